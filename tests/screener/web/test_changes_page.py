"""The page of changes, and what pages say of the age of the night that they show."""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import pytest

from screener.web.market.changes import MAX_ROWS, groups_of
from store.wire.currency import money
from store.wire.families import Family
from store.wire.labels import CHANGE_KINDS, CHANGE_REASONS
from store.wire.records import Change, ChangeKind, ChangeReason
from store.wire.view import SetupView
from store.wire.words import changed_words, place_words, quality_words
from tests.books import Fields
from tests.contract.market import active_book
from tests.resealed import market_changes, rename_bars, reseal, withdraw, write_changes
from tests.screener.web.browser import Browser
from tests.screener.web.people import new_person, signed_in
from tests.screener.web.tree import Document, Element, words
from tests.service import Service, copy_night, serving


@pytest.fixture(scope="module")
def changed(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A live service over a night with changes of every kind, two sessions later."""
    folder = tmp_path_factory.mktemp("changed")
    copy_night(night, folder)
    reseal(folder, lambda content: write_changes(content, market_changes()), rename_bars)
    with serving(folder, clock=lambda: dt.datetime(2012, 10, 6, tzinfo=dt.UTC)) as live:
        yield live


HEADINGS: Mapping[str, tuple[ChangeKind, ...]] = {
    "New tonight": ("new",),
    "Triggered today": ("triggered",),
    "Ended today": ("stopped", "reached"),
    "Gone": ("expired",),
}
"""The kinds of changes under each heading."""


def test_changes_are_grouped_with_their_number_reason_and_price(changed: Service) -> None:
    page = signed_in(changed, new_person(changed)).get("/changes").text
    text = words(page)

    for heading, kinds in HEADINGS.items():
        rows = [change for change in market_changes() if change.change in kinds]
        assert f"{heading}, {len(rows)}" in text
        for reason in {row.reason for row in rows} - {"found"}:
            assert CHANGE_REASONS[reason] in text
    assert "From the night of 2012-10-02 to that of 2012-10-03" in text
    assert "2 sessions have ended since the night of 2012-10-03" in text
    assert "on 2012-10-03 at $12.50, -1.00 R." in text
    assert "on 2012-10-03 at $12.50, +2.25 R." in text
    assert "not investment advice" in text
    main = _main(page)
    near = len(main.all("li")) - len(market_changes())
    assert near == (int(found[1]) if (found := re.search(r"Near the trigger, (\d+)", text)) else 0)


def test_the_page_is_bounded_and_says_how_many_more_there_are(data_dir: Path) -> None:
    first = market_changes()[0]
    many = [first.model_copy(update={"lineage_id": f"l{n}"}) for n in range(1000)]
    reseal(data_dir, lambda content: write_changes(content, many))
    with closing(active_book(data_dir)) as book:
        groups = groups_of(book, set(), set())

    assert (len(groups[0].lines), groups[0].count) == (MAX_ROWS, 1000)


def test_tracked_tickers_come_first_and_every_row_is_a_link(changed: Service) -> None:
    page = signed_in(changed, new_person(changed, tracked=("MSFT",))).get("/changes").text
    rows = _main(page).all("li")

    assert rows[0].text.startswith("MSFT")
    assert [link.attributes["href"] for link in rows[0].all("a")][:2] == [
        "/symbols/MSFT",
        "/watchlist#MSFT",
    ]
    assert all(row.all("a")[0].attributes["href"].startswith("/symbols/") for row in rows)


def _main(page: str) -> Element:
    return Document(page).root.all("main")[0]


@pytest.fixture(scope="module")
def evening(
    night: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Browser, Sequence[SetupView]]]:
    """A visitor of a night in which each served setup is new, and those setups."""
    folder = tmp_path_factory.mktemp("evening")
    copy_night(night, folder)
    with closing(active_book(folder)) as book:
        views = list(book.scan.rows)
    reseal(folder, lambda content: write_changes(content, _story(views)), rename_bars)
    with serving(folder) as live:
        yield signed_in(live, new_person(live)), views


def _story(views: Sequence[SetupView]) -> list[Change]:
    """Every setup is new, those that run triggered tonight too, one formation is gone, and another
    ended twice."""
    told = [_told(view, "new", "found", setup_id=view.setup_id) for view in views]
    for view in views:
        if view.status == "in_progress":
            at = {"session": dt.date(2012, 10, 3), "price": view.plan.start}
            told.append(_told(view, "triggered", "breakout", setup_id=view.setup_id, **at))
    gone = {"lineage_id": "gone", "stop_price": 9.5, "target_price": 14.25, "trigger_price": 11.0}
    at = {"lineage_id": "twice", "session": dt.date(2012, 10, 3)}
    first = at | {"price": 12.0, "r_multiple": -1.0, "gain_pct": -4.0, "entry_price": 12.5}
    second = at | {"price": 13.0, "r_multiple": 2.0, "gain_pct": 8.0, "entry_price": 11.5}
    told += [
        _told(views[0], "stopped", "stop", **first, stop_price=12.0),
        _told(views[0], "reached", "target", **second, stop_price=11.0, attempt=2),
    ]
    return [*told, _told(views[0], "expired", "faded", **gone)]


def _told(view: SetupView, kind: ChangeKind, reason: ChangeReason, **more: Any) -> Change:
    fields: Fields = {"lineage_id": view.lineage_id, "attempt": view.attempt or 1}
    fields |= dict.fromkeys(("setup_id", "session", "price", "r_multiple"))
    return Change(
        change=kind,
        reason=reason,
        symbol=view.symbol,
        family=Family(view.family),
        family_label=view.family_label,
        pattern_type="rising_wedge",
        direction=view.direction,
        **{**fields, **more},
    )


def heads(views: Sequence[SetupView]) -> list[SetupView]:
    """The best attempt of each formation."""
    return list({view.lineage_id: view for view in reversed(views)}.values())


def test_a_row_shows_its_picture_levels_place_and_quality_and_links_to_its_setup(
    evening: tuple[Browser, Sequence[SetupView]],
) -> None:
    visitor, views = evening
    rows = _main(visitor.get("/changes").text).all("li")
    linked = {row.all("a")[0].attributes["href"]: row for row in rows}

    for view in heads(views):
        row = linked[f"/symbols/{view.symbol}#setup-{view.setup_id}"]
        assert f"setup_id={view.setup_id}" in row.all("img")[0].attributes["src"]
        for price in (view.last_close, view.plan.start, view.plan.stop, view.plan.target):
            assert money(price, view.currency) in row.text
        assert place_words(view) in row.text
        assert quality_words(view) in row.text


def test_a_formation_stands_under_one_heading_and_what_is_gone_has_its_levels(
    evening: tuple[Browser, Sequence[SetupView]],
) -> None:
    visitor, views = evening
    sections = _main(visitor.get("/changes").text).all("section")
    under = [(part.all("h2")[0].text, part.all("li")) for part in sections]
    counts = {heading.split(",")[0]: len(rows) for heading, rows in under}
    of = Counter(view.status for view in heads(views))

    told = {"New tonight": of["forming"], "Triggered today": of["in_progress"]}
    assert counts == told | {"Ended today": 1, "Gone": 1}
    gone = under[-1][1][0].text
    assert "It had trigger $11.00, stop $9.50, target $14.25." in gone
    assert "No longer listed: its lines no longer fit the bars well." in gone


def test_each_attempt_of_a_formation_has_its_own_entry_stop_and_result(
    evening: tuple[Browser, Sequence[SetupView]],
) -> None:
    visitor, _ = evening
    sections = _main(visitor.get("/changes").text).all("section")
    (row,) = next(part for part in sections if "Ended today" in part.all("h2")[0].text).all("li")
    first, second = row.text.split("Attempt 1: ")[1].split("Attempt 2: ")

    assert "Result -4.00%; entry $12.50, stop $12.00." in first
    assert "at $12.00, -1.00 R." in first
    assert "Result +8.00%; entry $11.50, stop $11.00." in second
    assert "at $13.00, +2.00 R." in second
    assert len(row.all("h3")) == 2


def test_the_page_counts_changes_as_a_notification_does(
    evening: tuple[Browser, Sequence[SetupView]],
) -> None:
    visitor, views = evening
    told = _story(views)
    page, message = visitor.get("/changes").text, changed_words([dict(one) for one in told])
    of = Counter(one.change for one in told)
    kinds = ", ".join(f"{of[kind]} {name.lower()}" for kind, name in CHANGE_KINDS.items())

    assert message == f"{len(told)} changes of {len(heads(views)) + 2} patterns"
    assert f"{message}: {kinds}" in words(page)


def test_a_night_sealed_before_changes_had_lines_tells_what_is_gone(
    evening: tuple[Browser, Sequence[SetupView]],
) -> None:
    visitor, views = evening
    page = visitor.get(f"/symbols/{views[0].symbol}").text

    assert "It had trigger $11.00, stop $9.50, target $14.25." in words(page)
    assert "No longer listed since 2012-10-02" in words(page)
    assert "lost=" not in page


def test_every_kind_and_reason_has_words() -> None:
    assert set(CHANGE_KINDS) == set(get_args(ChangeKind))
    assert set(CHANGE_REASONS) == set(get_args(ChangeReason))


@pytest.mark.parametrize(("session", "said"), [("2012-10-03", True), ("2012-10-02", False)])
def test_a_withdrawn_night_is_named_until_a_later_one_is_served(
    data_dir: Path, session: str, said: bool
) -> None:
    withdraw(data_dir, 3, as_of_session=session)
    sentence = (
        f"The night of {session} was withdrawn on 2012-10-05: "
        "The bars of &lt;one&gt; provider were wrong."
    )
    with serving(data_dir) as live:
        for path in ("/", "/method"):
            page = Browser(live).get(path).text
            assert (sentence in page) == said
            assert "<one>" not in page

"""The page of changes, and what pages say of the age of the night that they show."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest

from store.wire.labels import CHANGE_KINDS, CHANGE_REASONS
from store.wire.records import ChangeKind, ChangeReason
from tests.resealed import market_changes, rename_bars, reseal, withdraw, write_changes
from tests.service import Service, copy_night, serving
from tests.web.browser import Browser
from tests.web.people import new_person, signed_in
from tests.web.tree import words
from web.changes import MOST, groups_of


@pytest.fixture(scope="module")
def changed(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A live service over a night with changes of every kind, two sessions later."""
    folder = tmp_path_factory.mktemp("changed")
    copy_night(night, folder)
    reseal(folder, lambda book: write_changes(book, market_changes()), rename_bars)
    with serving(folder, clock=lambda: dt.datetime(2012, 10, 6, tzinfo=dt.UTC)) as live:
        yield live


def test_changes_are_grouped_with_their_number_reason_and_price(changed: Service) -> None:
    page = signed_in(changed, new_person(changed)).get("/changes").text
    text = words(page)

    for kind, heading in CHANGE_KINDS.items():
        rows = [change for change in market_changes() if change.change == kind]
        assert f"{heading}, {len(rows)}" in text
        for reason in {row.reason for row in rows}:
            assert CHANGE_REASONS[reason][1:] in text
    assert "From the night of 2012-10-02 to that of 2012-10-03" in text
    assert "2 sessions have ended since the night of 2012-10-03" in text
    assert "on 2012-10-03 at $12.50, -1.00 R." in text
    assert "on 2012-10-03 at $12.50, +2.25 R." in text
    assert "not investment advice" in text
    assert page.count("<li>") == len(market_changes())


def test_the_page_is_bounded_and_says_how_many_more_there_are() -> None:
    groups = groups_of([{"change": "new", "symbol": "A"}] * 1000, set())

    assert (len(groups[0].rows), groups[0].count) == (MOST, 1000)


def test_tracked_tickers_come_first_and_are_the_only_links(changed: Service) -> None:
    page = signed_in(changed, new_person(changed, tracked=("MSFT",))).get("/changes").text
    main = page.split("<main", 1)[1].split("</main>")[0]

    first = re.search(r"<li>.*?<strong>([^<]+)</strong>", main, re.DOTALL)
    assert first is not None
    assert first[1] == "MSFT"
    assert re.findall(r'href="([^"]+)"', main) == ["/watchlist#MSFT"]


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

"""The changes since the last night: their filters, their pages and a night without any."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from mcp_server.operations.arguments import ScanArguments
from mcp_server.operations.handlers.changes import LATE_ENDS
from mcp_server.operations.screen_changes import screen_changes
from screener.notify.messages import published, screen
from store.nights.nights import Nights
from store.wire.words import NEW_DETECTOR
from tests.books import Content
from tests.contract.market import active_book
from tests.resealed import CHANGES, SINCE, market_changes, reseal, write_changes
from tests.screener.command import run
from tests.screener.web.people import new_person, signed_in
from tests.screener.web.tree import words
from tests.service import Service, copy_night, serving

NAMES = ("since_session", "since_version")


@pytest.fixture(scope="module")
def changed(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A live service over a night with changes of every kind."""
    folder = tmp_path_factory.mktemp("changed")
    copy_night(night, folder)
    reseal(folder, lambda content: write_changes(content, market_changes()))
    with serving(folder) as live:
        yield live


def stored(**wanted: str) -> list[Any]:
    """The rows that were sealed with these values, in their order."""
    rows = [change.model_dump(mode="json") for change in market_changes()]
    return [row for row in rows if wanted.items() <= row.items()]


ADDED = {"heading", "why", "night"}
"""Fields of an answer's row beside those that were sealed."""


def sealed(rows: list[Any]) -> list[Any]:
    """The rows of an answer without what the answer adds to them."""
    assert all(row.keys() >= ADDED for row in rows)
    return [{name: row[name] for name in row.keys() - ADDED} for row in rows]


def page(service: Service, **parameters: Any) -> Any:
    return service.get("/changes", params=parameters).raise_for_status().json()


def test_the_changes_are_what_was_sealed_in_its_order_and_name_both_nights(
    changed: Service,
) -> None:
    first = page(changed)

    assert first["as_of_session"] == "2012-10-03"
    assert first["available"] is True
    assert first["since_session"] == SINCE[0].isoformat()
    assert first["since_version"] == SINCE[1]
    assert (first["count"], first["limit"], first["offset"]) == (CHANGES, 50, 0)
    assert first["change"] is None
    assert sealed(first["changes"]) == stored()[:50]


def test_pages_follow_each_other_without_gap_or_repeat(changed: Service) -> None:
    pages = [page(changed, limit=999, offset=offset)["changes"] for offset in (-3, 200, 400, 600)]

    assert [len(rows) for rows in pages] == [200, 200, 50, 0]
    assert sealed([row for rows in pages for row in rows]) == stored()
    least = page(changed, limit=0, offset=-3)
    assert (least["limit"], least["offset"], sealed(least["changes"])) == (1, 0, stored()[:1])


@pytest.mark.parametrize(
    "wanted",
    [
        {"change": "new"},
        {"change": "reached", "direction": "bearish"},
        {"family": "triangle"},
        {"change": "expired", "family": "rising_wedge", "direction": "bullish"},
    ],
)
def test_filters_keep_the_rows_that_match_them_all(
    changed: Service, wanted: dict[str, str]
) -> None:
    found = page(changed, limit=200, **wanted)

    assert found["change"] == wanted.get("change")
    assert sealed(found["changes"]) == stored(**wanted)
    assert 0 < found["count"] == len(found["changes"]) < CHANGES


def test_a_scan_for_new_setups_says_since_when_they_are_new(changed: Service) -> None:
    asked = {"status": "all", "filters": '[{"kind":"new","value":true}]'}
    notes = changed.get("/scan", params=asked).json()["notes"]

    assert f"new: not in the night of {SINCE[0]}; it may have come on any session since." in notes


def test_a_night_with_none_before_it_says_that_nothing_is_known(service: Service) -> None:
    found = page(service)

    assert found["available"] is False
    assert (found["since_session"], found["since_version"]) == (None, None)
    assert (found["count"], found["changes"]) == (0, [])


def test_a_night_like_the_one_before_it_is_available_and_empty(
    data_dir: Path,
) -> None:
    reseal(data_dir, lambda content: write_changes(content, []))
    with serving(data_dir) as live:
        found = page(live)

    assert found["available"] is True
    assert (found["count"], found["changes"]) == (0, [])


def test_the_first_night_of_another_detector_says_so_wherever_changes_are_told(
    night: Path, data_dir: Path
) -> None:
    """An account follows a screen whose setups all stand in it, though none was there before."""
    asked, since = ScanArguments(status="all"), dict(zip(NAMES, SINCE, strict=True))
    record = {**since, "changes": [], "detector_changed": True}
    reseal(data_dir, lambda content: content.meta.update(changes=record))
    with closing(active_book(data_dir)) as book, closing(active_book(night)) as before:
        entered = screen_changes(asked, book, before)
        said = published("https://here", Nights(data_dir).check_active(), book, ())

    assert (list(entered.entered), list(entered.left)) == ([], [])
    assert len(entered.stayed) == len(book.scan.rows)
    assert "the detector changed" in " ".join(screen("https://here", "/screen", entered))
    assert NEW_DETECTOR in said.lines
    assert NEW_DETECTOR in " ".join(run(data_dir, "night", "changes").stdout.split())
    with serving(data_dir) as live:
        assert page(live)["detector_changed"] is True
        member = signed_in(live, new_person(live))
        assert NEW_DETECTOR in words(member.get("/changes").text)


def either_way(content: Content) -> None:
    """A forming setup becomes a triangle that may break either way, its second trigger nearer, and
    what is told is that it is new, that one like it is gone, and that a trade of one is.
    """
    row = next(row for row in content.scan if row["status"] == "forming")
    plan = row["plans"][0]
    close, other = row["last_close"], {"bullish": "bearish", "bearish": "bullish"}
    second = plan | {"direction": other[plan["direction"]], "trigger_price": close * 1.001}
    shape = {"pattern_type": "symmetrical_triangle", "plans": [plan, second]}
    row |= shape
    setup, _ = content.setups[row["setup_id"]]
    setup |= shape
    told = {name: row[name] for name in ("symbol", "lineage_id", "direction", "setup_id")}
    new, gone = (
        next(one for one in market_changes() if (one.change, one.pattern_type) == wanted)
        for wanted in (("new", "symmetrical_triangle"), ("expired", "symmetrical_triangle"))
    )
    attempt = row["attempt"]["number"]
    trigger = {"trigger_price": plan["trigger_price"]}
    same = {"direction": row["direction"]}
    rows = [
        new.model_copy(update=told | trigger | {"attempt": attempt}),
        gone.model_copy(update=same | trigger | {"symbol": "GONE"}),
        gone.model_copy(update=same | {"entry_price": 12.5, "symbol": "TRADE"}),
    ]
    write_changes(content, rows)


def test_either_plan_of_a_triangle_counts_and_the_answer_tells_which_matched(
    data_dir: Path,
) -> None:
    reseal(data_dir, either_way)
    with serving(data_dir) as live:
        whole = page(live)
        own = whole["changes"][0]
        second = own["opposite_plan"]
        found = {one: page(live, direction=one) for one in (own["direction"], second["direction"])}

    first, other = found.values()
    assert [row["symbol"] for row in first["changes"]] == [own["symbol"], "GONE", "TRADE"]
    assert [row["symbol"] for row in other["changes"]] == [own["symbol"], "GONE"]
    assert first["notes"] == whole["notes"] == [LATE_ENDS]
    assert f"opposite_plan is the {second['direction']} one: {own['symbol']}, GONE." in str(
        other["notes"]
    )
    assert "opposite_plan" not in whole["changes"][1]
    near = next(row for row in other["near"] if row["symbol"] == own["symbol"])
    assert near.items() >= second.items()


def test_a_setup_near_its_trigger_is_listed_by_the_plan_of_the_direction_asked_for(
    data_dir: Path,
) -> None:
    def both_near(content: Content) -> None:
        either_way(content)
        row = next(row for row in content.scan if len(row["plans"]) > 1)
        row["plans"][0]["trigger_price"] = row["last_close"] * 1.005

    reseal(data_dir, both_near)
    with serving(data_dir) as live:
        found = {one: page(live, direction=one)["near"] for one in ("bullish", "bearish")}
        nearest = page(live)["near"]

    for direction, near in found.items():
        assert {row["direction"] for row in near} == {direction}
    [row] = [row for row in nearest if row in (*found["bullish"], *found["bearish"])][:1]
    assert row["distance_to_trigger_pct"] == 0.1


def test_what_the_night_does_not_cover_is_named(changed: Service) -> None:
    known = page(changed, symbols="MSFT,nope,GONE")

    assert known["not_covered"] == ["NOPE", "GONE"]
    assert "does not cover NOPE, GONE" in str(known["notes"])
    assert page(changed, symbols="MSFT")["not_covered"] == page(changed)["not_covered"] == []
    assert page(changed, symbols="MSFT")["notes"] == [LATE_ENDS]


@pytest.mark.parametrize(
    ("change", "is_told"), [(None, True), ("stopped", True), ("reached", True), ("new", False)]
)
def test_ends_of_old_trades_are_told_to_be_in_the_history_alone(
    changed: Service, change: str | None, is_told: bool
) -> None:
    notes = page(changed, **({"change": change} if change else {}))["notes"]

    assert notes == [LATE_ENDS] * is_told

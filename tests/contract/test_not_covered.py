"""What answers and pages tell of symbols that the night does not cover, and of empty lists."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from store.wire.words import STOPPED
from tests.books import Content
from tests.resealed import leave_out, reseal
from tests.screener.command import run
from tests.screener.web.people import new_member
from tests.screener.web.tree import words
from tests.service import Service, copy_night, serving

WHY = "This night does not cover FB (rule stale): the last usable bar is of 2012-03-08."
KEPT = ("AAPL", "FB")


def stopped(content: Content) -> None:
    """FB has the trades of AAPL, of which the newest is open, and its bars ended long ago."""
    content.symbols["GOGO"] = "stale"
    leave_out(content, "FB", "stale", "The last usable bar is of 2012-03-08.")
    content.universe = [entry for entry in content.universe if entry["symbol"] != "FB"]
    content.meta["last_bars"] = {"FB": "2012-03-08"}
    content.histories["FB"] = content.histories["AAPL"]


@pytest.fixture(scope="module")
def folder(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with such a night."""
    place = tmp_path_factory.mktemp("left")
    copy_night(night, place)
    reseal(place, stopped)
    return place


@pytest.fixture(scope="module")
def left(folder: Path) -> Iterator[Service]:
    """A service over it."""
    with serving(folder) as live:
        yield live


@pytest.fixture
def key(left: Service) -> str:
    """A key of an account that tracks both."""
    return left.new_key(tracked=KEPT)


def history(service: Service, key: str, symbol: str, **asked: Any) -> Any:
    answer = service.get(f"/tickers/{symbol}/history", key=key, params=asked)
    return answer.raise_for_status().json()


def test_an_open_trade_of_a_symbol_whose_bars_ended_has_no_result(left: Service, key: str) -> None:
    found, covered = (history(left, key, symbol) for symbol in ("FB", "AAPL"))

    assert (found["available"], found["covered"]) == (True, False)
    assert found["last_bar_date"] == "2012-03-08"
    assert found["notes"] == [WHY, STOPPED]
    assert (covered["covered"], covered["last_bar_date"], covered["notes"]) == (True, None, [])
    [of_today], [unknown] = (
        [row for row in one["occurrences"] if row["outcome"] == "open"] for one in (covered, found)
    )
    assert of_today["unrealized_r"] is not None
    assert unknown == of_today | {"unrealized_r": None}
    assert found["occurrences"][1:] == covered["occurrences"][1:]


def test_a_history_counts_its_outcomes_whatever_is_shown_of_them(left: Service, key: str) -> None:
    whole = history(left, key, "AAPL", limit=100)
    outcomes = [row["outcome"] for row in whole["occurrences"]]
    counts = {"wins": outcomes.count("win"), "losses": outcomes.count("loss"), "open": 1}
    day = whole["occurrences"][9]["entry_date"]

    assert 0 < counts["wins"] < counts["losses"]
    for asked in ({"limit": 1}, {"outcome": "open"}, {"outcome": "resolved"}):
        assert history(left, key, "AAPL", **asked).items() >= counts.items()
    newer = history(left, key, "AAPL", since=day)
    assert newer["wins"] + newer["losses"] + newer["open"] == newer["total"] == 10


def test_pages_and_the_command_line_show_no_result_of_such_a_trade(
    left: Service, folder: Path, key: str
) -> None:
    _, browser = new_member(left, tracked=KEPT)
    trade = history(left, key, "FB")["occurrences"][0]["lineage_id"]
    page, covered = (words(browser.get(f"/symbols/{symbol}").text) for symbol in ("FB", "AAPL"))
    own = words(browser.get(f"/symbols/FB/trades/{trade}").text)

    assert WHY in page
    assert (STOPPED in page, STOPPED in covered) == (True, False)
    assert f"{WHY} {STOPPED}" in own
    assert "open at the last bar of FB" in own
    assert "still open" in words(browser.get(f"/symbols/AAPL/trades/{trade}").text)
    assert "R not known" in own
    printed = " ".join(run(folder, "show", "FB").stdout.split())
    assert STOPPED in printed
    assert STOPPED not in " ".join(run(folder, "show", "AAPL").stdout.split())


def test_an_untracked_symbol_of_which_only_past_trades_are_known_may_be_tracked_for_them(
    left: Service,
) -> None:
    key = left.new_key(tracked=("AAPL",))
    refused, other = (
        left.get(f"/tickers/{symbol}/history", key=key).json() for symbol in ("FB", "GOGO")
    )

    assert refused["error"] == other["error"] == "ticker_not_tracked"
    assert refused["fix"].startswith("It has no setup tonight, at most past trades: unless")
    assert "add the ticker with" in refused["fix"]
    assert refused["details"] == {"known": True}
    assert other["details"] == {"known": True, "nearest": ["GOOG"]}


def test_what_is_tracked_and_gives_no_setup_is_named(left: Service) -> None:
    key = left.new_key(tracked=("AAPL",))

    def edit(**lists: list[str]) -> Any:
        return left.request("PATCH", "/tickers", key=key, json=lists).json()["not_covered"]

    assert edit(add=["GOOG"]) == []
    assert edit(add=["fb", "IBM"]) == ["FB"]
    assert edit(add=["FB"]) == ["FB"], "nobody waits for it the second time either"
    assert edit(remove=["IBM"]) == []
    whole = left.request("PUT", "/tickers", key=key, json={"symbols": ["INTC", "AAPL", "FB"]})
    assert whole.json()["not_covered"] == ["INTC", "FB"]
    listed = left.request("POST", "/tickers/import", key=key, json={"text": "MSFT"})
    assert listed.json()["not_covered"] == []


@pytest.mark.parametrize(
    ("tracked", "why"),
    [
        ((), "The watchlist is empty: no ticker is tracked yet."),
        (
            ("FB", "INTC"),
            "No ticker of the watchlist has a setup in this night. It does not cover FB, INTC.",
        ),
        (("FB", "AAPL"), None),
    ],
)
def test_a_list_without_a_setup_says_why(
    left: Service, tracked: tuple[str, ...], why: str | None
) -> None:
    listed = left.get("/tickers", key=left.new_key(tracked=tracked)).json()

    assert listed.get("notes") == (why and [why])


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"search": "fb"}, WHY),
        ({"search": "zzzz"}, "No symbol, name or industry that the night covers is spelt like"),
        ({"offset": 4}, "There are 4 rows, and offset is past the last of them."),
        ({"search": "aapl"}, None),
        ({}, None),
    ],
)
def test_a_universe_without_what_was_looked_for_says_why(
    left: Service, asked: dict[str, Any], why: str | None
) -> None:
    found = left.get("/universe", key="", params=asked).raise_for_status().json()

    assert str(found.get("notes", "")).startswith(f"['{why}" if why else "")
    assert ("notes" in found) is bool(why)

"""A night that an earlier version sealed, without the fields added since, is served on."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from rest_facade.routes import ROUTES
from tests.agent import call, connected
from tests.resealed import rename_bars, reseal
from tests.service import Service, copy_night, serving
from tests.web.browser import Browser
from tests.web.people import new_person, signed_in

ADDED = {
    *("attempt", "sessions_since_trigger", "last_close_side", "method_version", "win_rate_ci95"),
    *("placebo_win_rate_pct", "placebo_avg_r", "lift_r", "lift_r_se", "verdict"),
    *("avg_r_after_costs", "by_direction", "as_served"),
}
"""Fields of setups, track records and families that were added within v1."""

BODIES = (("patterns", "symbol"), ("setups", "setup_id"), ("scan", "rank"), ("families", "family"))


def without_added(value: Any) -> Any:
    if isinstance(value, list):
        return [without_added(item) for item in value]
    if isinstance(value, dict):
        return {name: without_added(v) for name, v in value.items() if name not in ADDED}
    return value


def make_earlier(book: sqlite3.Connection) -> None:
    book.execute("DELETE FROM meta WHERE name IN ('upcoming', 'changes')")
    book.execute("UPDATE prices SET body = substr(body, 1, 20 * bars)")
    book.execute("DROP TABLE ticker_records")
    for table, key in BODIES:
        stored = book.execute(f"SELECT {key}, body FROM {table}").fetchall()  # noqa: S608
        for name, body in stored:
            shorter = orjson.dumps(without_added(orjson.loads(body)))
            change = f"UPDATE {table} SET body = ? WHERE {key} = ?"  # noqa: S608
            book.execute(change, (shorter, name))


def forget_next(manifest: dict[str, Any]) -> None:
    rename_bars(manifest)
    del manifest["next_session"], manifest["inputs"]["since"]


@pytest.fixture(scope="module")
def earlier(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A live service over the sample night as it was sealed before."""
    folder = tmp_path_factory.mktemp("earlier")
    copy_night(night, folder)
    reseal(folder, make_earlier, forget_next)
    with serving(folder) as live:
        yield live


async def test_every_route_and_tool_answers_over_an_earlier_night(earlier: Service) -> None:
    setup = earlier.get("/tickers/AAPL/patterns").json()["setups"][0]
    for route in ROUTES:
        if route.method == "GET":
            path = route.path.format(symbol="AAPL", family="triangle")
            answer = earlier.get(path, params={"setup_id": setup["setup_id"]})
            assert answer.status_code == 200, path
            if "json" in answer.headers["content-type"]:
                assert answer.json()["as_of_session"] == "2012-10-03"
                assert answer.json()["next_session"] is None
    async with connected(earlier.mcp_url, earlier.key) as client:
        for tool, arguments in (
            ("get_ticker_patterns", {"symbol": "AAPL"}),
            ("get_family_track_record", {}),
            ("demo", {"symbol": "AAPL"}),
        ):
            assert not (await call(client, tool, **arguments)).is_error

    assert ADDED.isdisjoint(setup)
    changes = earlier.get("/changes").json()
    assert (changes["available"], changes["changes"]) == (False, [])
    record = earlier.get("/tickers/AAPL/record").json()
    assert (record["available"], record["reason"], record["records"]) == (False, "not_sealed", [])
    night = earlier.get("/", key="").json()["night"]
    assert night["sessions_missed"] is None
    assert "does not say which sessions follow" in night["words"]


def test_every_page_is_shown_over_an_earlier_night(earlier: Service) -> None:
    browser = signed_in(earlier, new_person(earlier, tracked=("AAPL",)))
    pages = {
        path: browser.get(path)
        for path in ("/", "/docs", "/method", "/changes", "/keys", "/watchlist", "/usage")
    }

    assert {page.status_code for page in pages.values()} == {200}
    for path in ("/", "/method", "/changes"):
        assert "does not say which sessions follow" in pages[path].text
    assert "no change is known" in pages["/changes"].text
    assert Browser(earlier).get("/").status_code == 200

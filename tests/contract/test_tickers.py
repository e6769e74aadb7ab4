"""The tracked tickers: reading, replacing and editing them, and refusals that change nothing."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from store.accounts.accounts import AccountPlan
from store.accounts.keys import Keys
from store.accounts.watchlist import Watchlist
from store.database.database import Database
from tests.contract.market import MANY, Market
from tests.service import Service, on_database

FIRST = ("M1", "M2", "M3")


@pytest.fixture
def key(market: Market) -> str:
    """A key of an account that tracks M1, M2 and M3."""
    return market.service.new_key(tracked=FIRST)


def put(market: Market, key: str, symbols: list[str]) -> Any:
    return market.service.request("PUT", "/tickers", key=key, json={"symbols": symbols})


def patch(market: Market, key: str, **lists: list[str]) -> Any:
    return market.service.request("PATCH", "/tickers", key=key, json=lists)


def main_watchlist(service: Service, key: str) -> list[str]:
    """The user's Main watchlist, read as the web pages read it."""

    async def read(database: Database) -> list[str]:
        holder = await Keys(database).principal(key)
        assert holder is not None
        return await Watchlist(database).symbols(holder.account.id)

    return on_database(service, read)


def check_refused(answer: Any, code: str, **details: Any) -> None:
    body = answer.json()
    assert (answer.status_code, body["error"]) == (400, code)
    for name, value in details.items():
        assert body["details"][name] == value


@pytest.mark.proves("TICK-get", "TICK-answer", "TRACKED-symbol", "TRACKED-covered")
def test_the_list_has_covered_flags_a_count_and_the_cap(market: Market, key: str) -> None:
    answer = put(market, key, ["m2", "SHORT", "QUIET"]).json()

    assert answer["tickers"] == [
        {"symbol": "M2", "covered": True},
        {"symbol": "SHORT", "covered": False},
        {"symbol": "QUIET", "covered": True},
    ]
    assert (answer["count"], answer["cap"]) == (3, 200)
    assert (answer["added"], answer["removed"]) == (["SHORT", "QUIET"], ["M1", "M3"])
    listed = market.service.get("/tickers", key=key).json()
    covered = {ticker["symbol"]: ticker["covered"] for ticker in listed["tickers"]}
    assert covered == {"M2": True, "SHORT": False, "QUIET": True}
    assert (listed["count"], listed["cap"]) == (3, 200)


@pytest.mark.proves("TICK-put", "TICK-put-names", "TICK-answer")
def test_put_replaces_the_whole_list_in_the_order_sent(market: Market, key: str) -> None:
    answer = put(market, key, ["m9", "M4", "M9", " m2 ", "m4"]).json()

    assert [ticker["symbol"] for ticker in answer["tickers"]] == ["M9", "M4", "M2"]
    assert market.service.tracked(key) == ["M9", "M4", "M2"]
    assert put(market, key, []).json()["tickers"] == []


@pytest.mark.proves("TICK-put-watchlist", "TICK-patch-watchlist")
def test_both_edits_change_the_main_watchlist(market: Market, key: str) -> None:
    put(market, key, ["M7", "M5"])
    assert main_watchlist(market.service, key) == ["M7", "M5"]

    patch(market, key, add=["M6"], remove=["M7"])
    assert main_watchlist(market.service, key) == ["M5", "M6"]


@pytest.mark.proves("TICK-patch", "TICK-answer", "TICK-patch-order")
def test_patch_takes_either_list_or_both_removes_first_and_ignores_what_changes_nothing(
    market: Market, key: str
) -> None:
    for lists, left in (
        ({"add": ["M9"]}, ["M1", "M2", "M3", "M9"]),
        ({"remove": ["M2"]}, ["M1", "M3", "M9"]),
        ({"add": ["m8", "M3", "M8"], "remove": ["m1"]}, ["M3", "M9", "M8"]),
        ({"add": ["M3"], "remove": ["M3", "M77", "NEVERHEARD"]}, ["M9", "M8", "M3"]),
        ({"add": ["M8", "M9"]}, ["M9", "M8", "M3"]),
    ):
        answer = patch(market, key, **lists).raise_for_status().json()
        assert (
            [ticker["symbol"] for ticker in answer["tickers"]]
            == left
            == market.service.tracked(key)
        )
        assert (answer["count"], answer["cap"]) == (len(left), 200)


@pytest.mark.parametrize("lists", [{"add": []}, {"remove": []}, {"add": [], "remove": []}])
def test_patch_with_an_empty_list_changes_nothing(
    market: Market, key: str, lists: dict[str, list[str]]
) -> None:
    answer = patch(market, key, **lists)

    assert answer.status_code == 200
    assert (answer.json()["added"], answer.json()["removed"]) == ([], [])
    assert [each["symbol"] for each in answer.json()["tickers"]] == ["M1", "M2", "M3"]
    assert patch(market, key).json()["error"] == "bad_request"


@pytest.mark.parametrize("text", ["M4,M5", "M4 M5", "M4; M5"])
def test_several_symbols_in_one_text_are_told(market: Market, key: str, text: str) -> None:
    refused = patch(market, key, add=["M6", text]).json()

    assert refused["error"] == "invalid_symbol"
    assert refused["details"]["rejected"] == [text]
    assert "several symbols in one text" in refused["message"]
    assert market.service.tracked(key) == ["M1", "M2", "M3"]


@pytest.mark.proves("TICK-put-known", "TICK-patch-known", "TICK-errors-symbols", "LIM-cap")
@pytest.mark.proves("ERR-ticker_cap_exceeded", "ME-limits.tracked_tickers", "ERROR-details")
@pytest.mark.parametrize(
    ("plan", "cap"), [(AccountPlan.PREMIUM_PLUS, 200), (AccountPlan.PREMIUM, 50)]
)
def test_a_list_over_the_cap_of_the_plan_changes_nothing(
    market: Market, plan: AccountPlan, cap: int
) -> None:
    key = market.service.new_key(plan, FIRST)
    over = put(market, key, MANY[: cap + 1])
    check_refused(over, "ticker_cap_exceeded", cap=cap)
    assert "details.cap" in over.json()["fix"]
    assert "remove some first" in over.json()["fix"]
    assert market.service.tracked(key) == ["M1", "M2", "M3"]

    full = put(market, key, MANY[:cap]).json()
    assert (full["count"], full["cap"]) == (cap, cap)
    check_refused(patch(market, key, add=["M290"]), "ticker_cap_exceeded", cap=cap)
    assert market.service.tracked(key) == MANY[:cap]
    assert patch(market, key, add=["M290"], remove=["M1"]).status_code == 200
    assert market.service.get("/me", key=key).json()["limits"]["tracked_tickers"] == cap


@pytest.mark.proves("TRACKED-covered", "PAT-reason")
def test_a_symbol_that_left_the_reference_stays_tracked_and_is_not_covered(
    market: Market,
) -> None:
    key = market.service.new_key(tracked=("M1", "GONE"))

    answer = market.service.get("/tickers", key=key).json()
    assert answer["tickers"][1] == {"symbol": "GONE", "covered": False, "setups": []}
    patterns = market.service.get("/tickers/GONE/patterns", key=key).json()
    assert (patterns["available"], patterns["setups"]) == (False, [])
    assert "reason" not in patterns
    assert put(market, key, ["GONE", "M2"]).status_code == 200


def test_a_change_can_ask_for_the_list_that_was_read(market: Market, key: str) -> None:
    read = market.service.get("/tickers", key=key)

    def change(method: str, body: Any, tag: str) -> Any:
        headers = {"If-Match": tag}
        return market.service.request(method, "/tickers", key=key, json=body, headers=headers)

    seen = read.headers["etag"]
    first = change("PATCH", {"add": ["M4"]}, f'"other", {seen}')
    late = [
        change("PATCH", {"add": ["M5"]}, seen),
        change("PUT", {"symbols": ["M5"]}, seen),
        change("PUT", {"symbols": ["M5"]}, "W/" + seen),
        change("PUT", {"symbols": ["M5"]}, ""),
    ]

    assert first.status_code == 200
    assert "etag" not in first.headers
    assert {answer.status_code for answer in late} == {412}
    assert {answer.json()["error"] for answer in late} == {"precondition_failed"}
    assert "GET /tickers" in late[0].json()["fix"]
    assert market.service.tracked(key) == ["M1", "M2", "M3", "M4"]
    assert change("PUT", {"symbols": ["M7"]}, "*").status_code == 200


def test_of_two_changes_of_one_list_that_was_read_one_is_made(market: Market, key: str) -> None:
    headers = {"If-Match": market.service.get("/tickers", key=key).headers["etag"]}

    def add(symbol: str) -> int:
        request, body = market.service.request, {"add": [symbol]}
        return request("PATCH", "/tickers", key=key, json=body, headers=headers).status_code

    with ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(add, MANY[10:18]))

    assert sorted(statuses) == [200] + [412] * 7
    assert len(market.service.tracked(key)) == 4


def test_the_list_says_in_short_which_tickers_have_a_setup(market: Market, key: str) -> None:
    put(market, key, ["M2", "QUIET"]).raise_for_status()

    with_setup, without = market.service.get("/tickers", key=key).json()["tickers"]

    row = next(row for row in market.rows if row["symbol"] == "M2")
    assert with_setup["setups"] == [
        {
            **{name: row[name] for name in ("setup_id", "family", "direction", "status")},
            "attempt": row["attempt"]["number"],
            "quality_pct": row["quality_pct"],
            "distance_to_trigger_pct": row["distance_to_trigger_pct"],
            "last_close_side": row["last_close_side"],
        }
    ]
    assert without == {"symbol": "QUIET", "covered": True, "setups": []}

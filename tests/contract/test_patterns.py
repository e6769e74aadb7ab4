"""The routes of one tracked ticker: patterns, history, own records and charts.

That the numbers of its history are those of the bars is proven in `test_night.py`.
"""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from typing import Any

import orjson
import pytest

from store.wire.families import Family
from tests.contract.market import Market, active_book
from tests.service import TRACKED, Service


@pytest.fixture(scope="module")
def key(market: Market) -> str:
    """A key of an account on the market that tracks symbols of every kind."""
    return market.service.new_key(tracked=("M1", "M2", "QUIET", "SHORT"))


@pytest.mark.proves("PAT-patterns", "PAT-reason", "RULE-1")
def test_a_covered_symbol_answers_its_stored_setups(market: Market, key: str) -> None:
    answer = market.service.get("/tickers/M1/patterns", key=key).json()

    assert (answer["symbol"], answer["available"]) == ("M1", True)
    assert "reason" not in answer
    (setup,) = answer["setups"]
    assert setup == {name: market.rows[0][name] for name in setup}


@pytest.mark.proves("PAT-patterns", "PAT-reason")
@pytest.mark.parametrize(("symbol", "reason"), [("QUIET", None), ("SHORT", "not_covered")])
def test_a_symbol_where_nothing_forms_has_no_setups_and_an_excluded_one_says_so(
    market: Market, key: str, symbol: str, reason: str | None
) -> None:
    answer = market.service.get(f"/tickers/{symbol}/patterns", key=key).json()

    assert (answer["available"], answer["setups"]) == (reason is None, [])
    assert answer.get("reason") == reason
    assert ("reason" in answer) is (reason is not None)


@pytest.mark.proves("BASE-symbol")
@pytest.mark.parametrize("path", ["/tickers/{}/patterns", "/tickers/{}/history", "/demo/{}"])
def test_path_symbols_are_upper_cased(service: Service, path: str) -> None:
    answers = [service.get(path.format(symbol)) for symbol in ("GOOG", "goog", "Goog")]

    assert {answer.json()["symbol"] for answer in answers} == {"GOOG"}
    assert len({answer.content for answer in answers}) == 1


@pytest.mark.proves("PAT-history", "PAT-history-counts", "PAT-history-outcome")
@pytest.mark.parametrize("symbol", TRACKED)
def test_history_is_newest_entry_first_and_filtered_by_outcome(
    service: Service, symbol: str
) -> None:
    path = f"/tickers/{symbol}/history?limit=100"
    whole = service.get(path).json()
    rows = whole["occurrences"]

    assert (whole["symbol"], whole["available"]) == (symbol, True)
    assert whole["count"] == whole["total"] == len(rows)
    entries = [row["entry_date"] for row in rows]
    assert entries == sorted(entries, reverse=True)
    for outcome, kept in (
        ("all", {"win", "loss", "open"}),
        ("resolved", {"win", "loss"}),
        ("open", {"open"}),
        ("RESOLVED", {"win", "loss"}),
        ("Open", {"open"}),
    ):
        some = service.get(f"{path}&outcome={outcome}").json()
        assert some["occurrences"] == [row for row in rows if row["outcome"] in kept]
        assert some["total"] == len(some["occurrences"])


@pytest.mark.parametrize("family", list(Family))
def test_history_is_filtered_by_family_before_it_is_cut(
    service: Service, market: Market, key: str, family: Family
) -> None:
    rows = service.get("/tickers/AAPL/history?limit=100").json()["occurrences"]
    some = service.get(f"/tickers/AAPL/history?family={family.upper()}").json()
    assert some["occurrences"] == [row for row in rows if row["family"] == family]
    assert some["count"] == some["total"] == len(some["occurrences"])

    with closing(active_book(market.service.settings.data_dir)) as book:
        stored = book.history("M1")
    assert stored is not None
    whole = [row for row in map(orjson.loads, stored.rows) if row["outcome"] != "open"]
    path = f"/tickers/M1/history?outcome=resolved&limit=1&family={family}"
    one = market.service.get(path, key=key).json()
    matching = [row["lineage_id"] for row in whole if row["family"] == family]
    assert [row["lineage_id"] for row in one["occurrences"]] == matching[:1]
    assert (one["total"], one["count"]) == (len(matching), len(one["occurrences"]))


@pytest.mark.proves("PAT-history-limit", "LIM-history", "PAT-history-counts", "PAT-history")
@pytest.mark.parametrize(
    ("asked", "given"),
    [("", 50), ("?limit=1", 1), ("?limit=0", 1), ("?limit=-7", 1), ("?limit=100", 100),
     ("?limit=101", 100), (f"?limit={10**30}", 100)],
)  # fmt: skip
def test_history_gives_50_rows_unless_asked_and_1_to_100(
    market: Market, key: str, asked: str, given: int
) -> None:
    answer = market.service.get(f"/tickers/M1/history{asked}", key=key).json()

    assert answer["count"] == len(answer["occurrences"]) == given
    assert answer["total"] == 150


@pytest.mark.proves("PAT-history-available")
def test_a_symbol_without_stored_history_has_none(market: Market, key: str) -> None:
    answer = market.service.get("/tickers/M2/history", key=key).json()

    assert answer["available"] is False
    assert (answer["occurrences"], answer["count"], answer["total"]) == ([], 0, 0)


@pytest.mark.proves("HIST-ids", "HIST-family", "HIST-family_label", "HIST-pattern_type")
@pytest.mark.proves("HIST-direction", "HIST-outcome", "HIST-attempt")
def test_a_history_row_says_what_it_was(service: Service) -> None:
    answers = [service.get(f"/tickers/{symbol}/history?limit=100").json() for symbol in TRACKED]
    rows = [row for answer in answers for row in answer["occurrences"]]
    assert {row["outcome"] for row in rows} == {"win", "loss", "open"}
    for row in rows:
        for name in ("setup_id", "lineage_id", "family_label", "pattern_type"):
            assert isinstance(row[name], str)
        assert row["direction"] in ("bullish", "bearish")
        kind = row["pattern_type"]
        if kind.endswith("_triangle"):
            assert row["family"] == "triangle"
        elif kind == "squeeze_consolidation":
            assert row["family"] == f"{row['direction']}_pennant"
        else:
            assert row["family"] == kind in ("rising_wedge", "falling_wedge")
        assert set(row["attempt"]) == {"number", "count"}
        assert row["attempt"]["number"] == 1 <= row["attempt"]["count"]


def test_history_is_bounded_by_the_dates_of_entry_both_of_them_included(service: Service) -> None:
    whole = service.get("/tickers/MSFT/history?limit=100").json()["occurrences"]
    first, last = whole[-2]["entry_date"], whole[1]["entry_date"]

    between = service.get(f"/tickers/MSFT/history?since={first}&until={last}&limit=1").json()
    from_first = service.get(f"/tickers/MSFT/history?since={first}&limit=100").json()
    never = service.get("/tickers/MSFT/history?since=1990-01-01&until=1990-01-02").json()

    assert (between["count"], between["total"]) == (1, len(whole) - 2)
    assert between["occurrences"] == whole[1:2]
    assert from_first["occurrences"] == whole[:-1]
    assert (never["available"], never["occurrences"], never["total"]) == (True, [], 0)


def records_of(service: Service, symbol: str, **query: str) -> list[dict[str, Any]]:
    answer = service.get(f"/tickers/{symbol}/record", params=query).raise_for_status().json()
    assert (answer["symbol"], answer["available"]) == (symbol, True)
    assert "reason" not in answer
    records: list[dict[str, Any]] = answer["records"]
    return records


@pytest.mark.parametrize("symbol", TRACKED)
def test_a_record_counts_every_resolved_trade_of_the_history(service: Service, symbol: str) -> None:
    path = f"/tickers/{symbol}/history?limit=100&outcome=resolved"
    rows = service.get(path).json()["occurrences"]
    records = records_of(service, symbol)

    won = Counter(row["family"] for row in rows if row["outcome"] == "win")
    traded = Counter(row["family"] for row in rows)
    assert [r["family"] for r in records] == [family for family in Family if traded[family]]
    assert {r["family"]: (r["sample_size"], r["wins"]) for r in records} == {
        family: (number, won[family]) for family, number in traded.items()
    }
    assert {(r["scope"], r["symbol"]) for r in records} == {("ticker", symbol)}


def test_one_family_is_asked_for_in_any_case(service: Service) -> None:
    everything = records_of(service, "AAPL")

    for family in Family:
        found = records_of(service, "AAPL", family=family.upper())
        assert found == [record for record in everything if record["family"] == family]


def test_a_ticker_that_the_night_does_not_cover_has_no_record(service: Service) -> None:
    key = service.new_key(tracked=("GONE",))
    answer = service.get("/tickers/gone/record", key=key).raise_for_status().json()

    assert (answer["symbol"], answer["available"], answer["records"]) == ("GONE", False, [])
    assert answer["reason"] == "not_covered"

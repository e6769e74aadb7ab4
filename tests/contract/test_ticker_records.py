"""The own records of a ticker: of every family that it traded, also without a current setup."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from store.wire.families import Family
from tests.service import TRACKED, Service, new_key


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
    key = new_key(service.settings, "gone@example.com", tracked=("GONE",))
    answer = service.get("/tickers/gone/record", key=key).raise_for_status().json()

    assert (answer["symbol"], answer["available"], answer["records"]) == ("GONE", False, [])
    assert answer["reason"] == "not_covered"

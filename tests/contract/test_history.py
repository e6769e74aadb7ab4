"""The history: what a row was, and which rows are asked for.

That its numbers are those of the bars is proven in tests/nightly/test_night.py.
"""

from __future__ import annotations

import pytest

from tests.service import TRACKED, Service


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
    never = service.get(f"/tickers/MSFT/history?since={last}&until={first}").json()

    assert (between["count"], between["total"]) == (1, len(whole) - 2)
    assert between["occurrences"] == whole[1:2]
    assert from_first["occurrences"] == whole[:-1]
    assert (never["available"], never["occurrences"], never["total"]) == (True, [], 0)

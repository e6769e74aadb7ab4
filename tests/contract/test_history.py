"""The history: every field of a row, compared with the bars that it was found in."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from nightly.bars import Bars, to_date
from nightly.plan import plan
from screener.nightly import order_of
from tests.conftest import NIGHT_SESSION
from tests.service import TRACKED, Service


@dataclass(frozen=True)
class Trade:
    """A history row with the bars of its symbol."""

    row: Mapping[str, Any]
    bars: Bars
    position: Mapping[str, int]
    """The position of each day among the bars."""

    @property
    def entry(self) -> int:
        """The position of the breakout bar."""
        return self.position[self.row["entry_date"]]

    @property
    def last(self) -> int:
        """The position of the last bar on which the trade was held."""
        return self.position[self.row["exit_date"]] if self.row["exit_date"] else len(self.bars) - 1

    @property
    def side(self) -> int:
        """1 for a trade that wins when the price rises, else -1."""
        return 1 if self.row["direction"] == "bullish" else -1


@pytest.fixture(scope="module")
def past(service: Service) -> list[Trade]:
    """Every history row of the sample, with the bars it was found in."""
    return list(_past(service))


def _past(service: Service) -> Iterator[Trade]:
    order = order_of(service.settings, session=NIGHT_SESSION)
    for task in plan(order, dt.datetime.now(dt.UTC)).tasks:
        listings = {raw: listing for raw, listing in task.symbols if listing.symbol in TRACKED}
        for loaded in task.source.load(list(listings)):
            listing = listings[loaded.name]
            bars = task.clean(loaded, listing).bars
            position = {to_date(int(day)).isoformat(): n for n, day in enumerate(bars.date)}
            answer = service.get(f"/tickers/{listing.symbol}/history?limit=100").json()
            assert answer["count"] == answer["total"] > 0
            for row in answer["occurrences"]:
                yield Trade(row, bars, position)


@pytest.mark.proves("HIST-ids", "HIST-family", "HIST-family_label", "HIST-pattern_type")
@pytest.mark.proves("HIST-direction", "HIST-outcome", "HIST-attempt")
def test_a_history_row_says_what_it_was(past: list[Trade]) -> None:
    assert {trade.row["outcome"] for trade in past} == {"win", "loss", "open"}
    for row in (trade.row for trade in past):
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


@pytest.mark.proves("HIST-entry_date", "HIST-entry_price", "HIST-hold_bars", "HIST-exit")
def test_entry_and_exit_lie_on_the_bars_they_name(past: list[Trade]) -> None:
    for trade in past:
        row = trade.row
        close = float(trade.bars.close[trade.entry])
        assert row["entry_price"] == pytest.approx(close, rel=1e-5)
        if row["outcome"] == "open":
            assert (row["exit_date"], row["exit_price"], row["hold_bars"]) == (None, None, None)
        else:
            assert row["hold_bars"] == trade.last - trade.entry > 0


@pytest.mark.proves("STATE-win", "STATE-loss", "STATE-open", "HIST-outcome")
@pytest.mark.proves("HIST-stop_price", "HIST-target_price")
def test_an_outcome_is_what_the_bars_between_entry_and_exit_did(past: list[Trade]) -> None:
    for trade in past:
        row, held = trade.row, slice(trade.entry + 1, trade.last + 1)
        if trade.side > 0:
            hit = trade.bars.high[held] >= row["target_price"] * (1 - 1e-6)
            stopped = trade.bars.low[held] <= row["stop_price"] * (1 + 1e-6)
        else:
            hit = trade.bars.low[held] <= row["target_price"] * (1 + 1e-6)
            stopped = trade.bars.high[held] >= row["stop_price"] * (1 - 1e-6)
        assert not (hit | stopped)[:-1].any()
        if row["outcome"] == "win":
            assert hit[-1]
            assert not stopped[-1]
        elif row["outcome"] == "loss":
            assert stopped[-1]
        else:
            assert not (hit | stopped).any()


@pytest.mark.proves("HIST-realized_move_pct", "HIST-r_multiple", "HIST-unrealized_r")
@pytest.mark.proves("HIST-target_move_pct", "HIST-exit", "HIST-hold_bars")
def test_moves_and_r_multiples_follow_from_the_prices(past: list[Trade]) -> None:
    for trade in past:
        row, side = trade.row, trade.side
        entry, risk = row["entry_price"], abs(row["entry_price"] - row["stop_price"])
        assert side * row["stop_price"] < side * entry
        assert row["target_move_pct"] > 0
        if row["outcome"] == "open":
            missing = ("exit_date", "exit_price", "realized_move_pct", "r_multiple", "hold_bars")
            assert all(row[name] is None for name in missing)
            now = side * (float(trade.bars.close[-1]) - entry) / risk
            assert row["unrealized_r"] == pytest.approx(now, abs=0.002)
        else:
            gain = side * (row["exit_price"] - entry)
            assert row["realized_move_pct"] == pytest.approx(100 * gain / entry, abs=0.02)
            assert row["r_multiple"] == pytest.approx(gain / risk, abs=0.002)
            assert row["unrealized_r"] is None


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

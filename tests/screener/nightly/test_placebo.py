"""Placebo trades: which pairs are left out, and that a night keeps the draws of earlier ones.

`tests.screener.nightly.test_recomputed` draws and resolves them a second time.
"""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from screener.nightly.bars import Bars, to_day
from screener.nightly.detector.events import TRADE, VERSION, EventLog, Outcome, PatternType, Rows
from screener.nightly.results.placebo import MAX_DISTANCE, placebo, seeds_of
from screener.nightly.series import Series
from tests.screener.nightly.series import walk

LONG, SHORT = 1, -1
STOP, TARGET = 0.05, 0.10  # log distances of the trades, at an ATR of `ATR`
ATR = 0.02
SPAN = 30  # bars of the pattern
FIRST = to_day(dt.date(2004, 1, 5))
ENTRY = 600  # the real entry of the planted trades, with room for every draw before it
PLANTED = (
    ENTRY + SPAN + MAX_DISTANCE + 5
)  # past every draw's entry, so that this bar decides the late


def quiet() -> Bars:
    """Bars that stay around 100 with an ATR of `ATR`, so that they resolve no trade."""
    length = PLANTED + 20
    date = np.arange(FIRST, FIRST + length, dtype=np.int32)
    even = np.full(length, 100.0)
    high, low = even * math.exp(ATR / 2), even * math.exp(-ATR / 2)
    return Bars(date, even, high, low, even.copy(), even)


def log_of(bars: Bars, direction: int = LONG, entries: tuple[int, ...] = (ENTRY,)) -> EventLog:
    """A log of trades with the usual distances, each at the end of a pattern of `SPAN` bars."""
    versions, trades = np.zeros(len(entries), VERSION), np.zeros(len(entries), TRADE)
    versions["type"] = PatternType.FALLING_WEDGE
    versions["upper_start"] = versions["lower_start"] = np.array(entries) - SPAN
    trades["version"], trades["entry"] = np.arange(len(entries)), entries
    trades["direction"], trades["atr"] = direction, ATR
    trades["entry_price"] = bars.close[list(entries)]
    trades["stop_price"] = trades["entry_price"] * math.exp(-direction * STOP)
    trades["target_price"] = trades["entry_price"] * math.exp(direction * TARGET)
    return EventLog(versions, trades)


def draw(bars: Bars, log: EventLog, *, ended: bool = False) -> Rows:
    """The draws of all trades of a log."""
    seeds = seeds_of("TEST", bars, log.trades)
    return placebo(Series.sound(bars), log, log.trades, seeds, ended=ended)


def planted() -> Bars:
    """Quiet bars except one that wins early draws (a bar before the pattern) and one late ones."""
    bars = quiet()
    bars.high[[ENTRY - SPAN - 2, PLANTED]] = 111
    return bars


def test_a_pair_is_left_out_if_its_early_half_still_runs_when_the_pattern_begins() -> None:
    bars, late = planted(), planted()
    late.high[ENTRY - SPAN - 2], late.high[ENTRY - SPAN] = 101, 111  # its first bar
    assert set(draw(bars, log_of(bars))["outcome"].flat) == {Outcome.WIN}
    assert set(draw(late, log_of(late))["entry"].flat) == {-1}


@settings(max_examples=25)
@given(st.integers(900, 2399), st.sampled_from((LONG, SHORT)))
def test_a_resolved_pair_stays_as_it_is_when_bars_are_appended(cut: int, direction: int) -> None:
    bars = walk(2400)
    log = log_of(bars, direction, tuple(range(600, cut, 37)))
    before, after = draw(bars.take(slice(0, cut)), log), draw(bars, log)
    kept = before["entry"][..., 0] >= 0
    assert before[kept].tobytes() == after[kept].tobytes()
    assert (after["entry"][kept] >= 0).all()


def test_a_listing_that_ends_closes_the_late_halves_that_are_open_at_its_last_close() -> None:
    bars = planted()
    bars.high[PLANTED], bars.close[-1] = 101, 102
    log = log_of(bars)
    assert set(draw(bars, log)["entry"].flat) == {-1}, "a pair with an open half is no pair"
    closed = draw(bars, log, ended=True)
    assert set(closed["outcome"][..., 0].flat) == {Outcome.WIN}
    assert set(closed["outcome"][..., 1].flat) == {Outcome.DELISTED}
    assert set(closed["exit"][..., 1].flat) == {len(bars) - 1}
    assert closed["r"][..., 1] == pytest.approx(2 / (100 - 100 * math.exp(-STOP)))

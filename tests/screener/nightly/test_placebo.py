"""Placebo trades: a night keeps the draws of earlier ones.

`tests.screener.nightly.test_recomputed` draws and resolves them a second time.
"""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from screener.nightly.bars import Bars
from screener.nightly.detector.events import TRADE, VERSION, EventLog, PatternType, Rows
from screener.nightly.results.placebo import placebo, seeds_of
from screener.nightly.series import Series
from tests.screener.nightly.series import walk

STOP, TARGET = 0.05, 0.10  # log distances of the trades, at an ATR of `ATR`
ATR = 0.02
SPAN = 30  # bars of the pattern


def log_of(bars: Bars, direction: int, entries: list[int]) -> EventLog:
    """A log of trades with the usual distances, each at the end of a pattern of `SPAN` bars."""
    versions, trades = np.zeros(len(entries), VERSION), np.zeros(len(entries), TRADE)
    versions["type"] = PatternType.FALLING_WEDGE
    versions["upper_start"] = versions["lower_start"] = np.array(entries) - SPAN
    trades["version"], trades["entry"] = np.arange(len(entries)), entries
    trades["direction"], trades["atr"] = direction, ATR
    trades["entry_price"] = bars.close[entries]
    trades["stop_price"] = trades["entry_price"] * math.exp(-direction * STOP)
    trades["target_price"] = trades["entry_price"] * math.exp(direction * TARGET)
    return EventLog(versions, trades)


def draw(bars: Bars, log: EventLog) -> Rows:
    """The draws of all trades of a log."""
    return placebo(Series.sound(bars), log, log.trades, seeds_of("TEST", bars, log.trades))


@settings(max_examples=25)
@given(st.integers(900, 2399), st.sampled_from((1, -1)))
def test_a_resolved_pair_stays_as_it_is_when_bars_are_appended(cut: int, direction: int) -> None:
    bars = walk(2400)
    log = log_of(bars, direction, list(range(600, cut, 37)))
    before, after = draw(bars.take(slice(0, cut)), log), draw(bars, log)
    kept = before["entry"][..., 0] >= 0
    assert before[kept].tobytes() == after[kept].tobytes()
    assert (after["entry"][kept] >= 0).all()

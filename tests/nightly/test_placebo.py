"""Placebo trades: where they are drawn, which pairs are left out, how they end, what adds up."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nightly.bars import Bars, to_day
from nightly.events import TRADE, VERSION, EventLog, Outcome, PatternType, Rows
from nightly.placebo import FARTHEST, placebo, seeds_of
from nightly.series import Series
from tests.nightly.series import walk

LONG, SHORT = 1, -1
STOP, TARGET = 0.05, 0.10  # log distances of the trades, at an ATR of `ATR`
ATR = 0.02
SPAN = 30  # bars of the pattern
FIRST = to_day(dt.date(2004, 1, 5))
ENTRY = 600  # the real entry of the planted trades, with room for every draw before it
PLANTED = ENTRY + SPAN + FARTHEST + 5  # past every draw's entry, so that this bar decides the late


def quiet(length: int = PLANTED + 20) -> Bars:
    """Bars that stay around 100 with an ATR of `ATR`, so that they resolve no trade."""
    date = np.arange(FIRST, FIRST + length, dtype=np.int32)
    even = np.full(length, 100.0)
    high, low = even * math.exp(ATR / 2), even * math.exp(-ATR / 2)
    return Bars(date, even, high, low, even.copy(), even)


def log_of(
    bars: Bars,
    direction: int = LONG,
    entries: tuple[int, ...] = (ENTRY,),
    kind: PatternType = PatternType.FALLING_WEDGE,
    atr: float = ATR,
) -> EventLog:
    """A log of trades with the usual distances, each at the end of a pattern of `SPAN` bars."""
    versions, trades = np.zeros(len(entries), VERSION), np.zeros(len(entries), TRADE)
    versions["type"] = kind
    versions["upper_start"] = np.array(entries) - SPAN
    versions["lower_start"] = np.array(entries) - SPAN + 4
    trades["version"], trades["entry"] = np.arange(len(entries)), entries
    trades["direction"], trades["atr"] = direction, atr
    trades["entry_price"] = bars.close[list(entries)]
    trades["stop_price"] = trades["entry_price"] * math.exp(-direction * STOP)
    trades["target_price"] = trades["entry_price"] * math.exp(direction * TARGET)
    return EventLog(versions, trades)


def draw(bars: Bars, log: EventLog, series: Series | None = None, *, ended: bool = False) -> Rows:
    """The draws of all trades of a log."""
    seeds = seeds_of("TEST", bars, log.trades)
    return placebo(series or Series.sound(bars), log, log.trades, seeds, ended=ended)


def planted(opened: float, high: float, low: float) -> Bars:
    """Quiet bars except one that decides early draws (a bar before the pattern) and late ones."""
    bars = quiet()
    for bar in (ENTRY - SPAN - 2, PLANTED):
        bars.open[bar], bars.high[bar], bars.low[bar] = opened, high, low
    return bars


def test_a_pair_is_left_out_if_its_early_half_still_runs_when_the_pattern_begins() -> None:
    bars, late = planted(100, 111, 100), planted(100, 111, 100)
    late.high[ENTRY - SPAN - 2], late.high[ENTRY - SPAN] = 101, 111  # its first bar
    assert set(draw(bars, log_of(bars))["outcome"].flat) == {Outcome.WIN}
    assert set(draw(late, log_of(late))["entry"].flat) == {-1}


def _same(left: Rows, right: Rows) -> bool:
    return left.tobytes() == right.tobytes()


@settings(max_examples=25)
@given(st.integers(900, 2399), st.sampled_from((LONG, SHORT)))
def test_a_resolved_pair_stays_as_it_is_when_bars_are_appended(cut: int, direction: int) -> None:
    bars = walk(2400)
    log = log_of(bars, direction, tuple(range(600, cut, 37)))
    before, after = draw(bars.take(slice(0, cut)), log), draw(bars, log)
    kept = before["entry"][..., 0] >= 0
    assert _same(before[kept], after[kept])
    assert (after["entry"][kept] >= 0).all()

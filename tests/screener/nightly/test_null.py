"""The null is fair: on a driftless walk, trades at random bars do as well as random entries."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest

from research.evidence.walks import driftless
from screener.nightly.bars import Bars
from screener.nightly.detector.detector import log_atrs
from screener.nightly.detector.events import TRADE, VERSION, EventLog, Outcome, PatternType, Rows
from screener.nightly.detector.parameters import Parameters
from screener.nightly.results.placebo import placebo, seeds_of
from screener.nightly.series import Series
from tests.screener.nightly.recomputed import resolved
from tests.screener.nightly.series import weekdays

WALKS, LENGTH, EACH = 300, 1900, 4
STOP, TARGET = 1.5, 4.5  # ATR
REACHED = STOP / (STOP + TARGET)  # of a walk without drift, without steps


def planted(bars: Bars, span: int, rng: np.random.Generator) -> EventLog:
    """Resolved trades at random bars, each said to end a pattern of so many bars."""
    versions, trades = np.zeros(EACH, VERSION), np.zeros(EACH, TRADE)
    entries = np.sort(rng.choice(np.arange(700, 1000), EACH, replace=False))
    direction = rng.choice([1, -1], EACH)
    versions["type"], versions["attempt"] = PatternType.FALLING_WEDGE, 1
    versions["upper_start"], versions["lower_start"] = entries - span, entries - span + 3
    trades["version"], trades["entry"], trades["direction"] = np.arange(EACH), entries, direction
    trades["entry_price"], trades["atr"] = (
        bars.close[entries],
        log_atrs(bars, Parameters())[entries],
    )
    for name, sign, reach in (("stop_price", -1, STOP), ("target_price", 1, TARGET)):
        trades[name] = trades["entry_price"] * np.exp(sign * direction * reach * trades["atr"])
    for trade in trades:
        entry, d = int(trade["entry"]), int(trade["direction"])
        levels = float(trade["stop_price"]), float(trade["target_price"])
        found = resolved(bars, entry, d, *levels, ended=False)
        assert found is not None
        trade["outcome"] = Outcome.WIN if found[0] else Outcome.LOSS
        trade["exit"], trade["exit_price"] = found[1:]
    return EventLog(versions, trades)


def studies(span: int) -> Iterator[tuple[Rows, Rows]]:
    """The trades and the random entries of every walk."""
    rng = np.random.default_rng([20261122, span])
    dates = weekdays(LENGTH)
    for number in range(WALKS):
        bars = driftless(dates, rng)
        log = planted(bars, span, rng)
        seeds = seeds_of(f"WALK{number}", bars, log.trades)
        yield log.trades, placebo(Series.sound(bars), log, log.trades, seeds)


def r_of(trades: Rows) -> Rows:
    risk = np.abs(trades["entry_price"] - trades["stop_price"])
    r: Rows = trades["direction"] * (trades["exit_price"] - trades["entry_price"]) / risk
    return r


@pytest.mark.parametrize("span", [20, 60, 120])
def test_trades_at_random_bars_have_no_lift_on_a_driftless_walk(span: int) -> None:
    found = list(studies(span))
    draws = np.concatenate([each for _, each in found])
    lift = np.concatenate([r_of(trades) for trades, _ in found]) - np.nanmean(
        draws["r"], axis=(1, 2)
    )
    error = lift.std(ddof=1) / math.sqrt(len(lift))

    assert abs(lift.mean()) < 3 * error
    assert error < 0.06

    # A pair is left out if its earlier entry still runs when the pattern begins, which wins do
    # more often than losses: with these stops that takes less than a point off its win rate.
    kept = draws["outcome"] != Outcome.OPEN
    early, late = (
        (draws["outcome"][..., side] == Outcome.WIN).sum() / kept[..., side].sum()
        for side in (0, 1)
    )
    assert kept.mean() > 0.99
    assert early == pytest.approx(REACHED, abs=0.02)
    assert late == pytest.approx(REACHED, abs=0.02)
    assert early == pytest.approx(late, abs=0.015)

"""Detector: finds chart patterns in the daily bars of one symbol and returns an event log.

This is the interface to the kernel, and the module that the rest of the nightly asks about lines,
touches and levels. It knows bars and event logs, but no symbol, file or market.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from screener.nightly.bars import Bars, Floats
from screener.nightly.detector.events import EventLog, Outcome, Rows
from screener.nightly.detector.kernel.candidates import furthest_pair
from screener.nightly.detector.kernel.compiler import Record
from screener.nightly.detector.kernel.lines import LINE
from screener.nightly.detector.kernel.naming import Finding
from screener.nightly.detector.kernel.prices import LOWER, PRICE, UPPER, fill_logs, flag_swings
from screener.nightly.detector.kernel.state import STATE, Log, new_log, new_state
from screener.nightly.detector.kernel.touches import Indices, find_touches
from screener.nightly.detector.kernel.trades import BAR, resolve_draws
from screener.nightly.detector.kernel.versions import Levels, lower_at, plan_at, start_of, upper_at
from screener.nightly.detector.kernel.walk import flag_known_swings, walk
from screener.nightly.detector.parameters import DEFAULTS, Parameters
from screener.nightly.series import Series, starts


@dataclass(frozen=True, slots=True, eq=False)
class DetectorRun:
    """A walk that can be resumed: the state after some bars, and the event log so far."""

    bars: int
    state: Rows
    """One `STATE` record."""
    log: EventLog
    open_trades: Indices
    """The rows of the open trades in the log."""


def detect(bars: Bars, parameters: Parameters = DEFAULTS, *, gap_days: int = 10) -> EventLog:
    """The event log of a walk over cleaned bars of one symbol that every night served.

    More than `gap_days` calendar days between two bars are a data gap (crypto: 3).
    """
    return walk_on(None, Series.sound(bars), parameters, gap_days=gap_days).log


def walk_on(
    earlier: DetectorRun | None,
    series: Series,
    parameters: Parameters = DEFAULTS,
    *,
    gap_days: int = 10,
) -> DetectorRun:
    """Walk a series; if an earlier walk over its first bars is given, resume it.

    The result is bit for bit that of a walk from the first bar, if `earlier` walked the same bars.
    """
    bars = series.bars
    walked = 0 if earlier is None else earlier.bars
    tail = max(0, walked - reach(parameters))
    prices = walked_prices(series, parameters, gap_days, tail)
    state = new_state() if earlier is None else earlier.state.copy()[0]
    log = new_log() if earlier is None else enlarged(earlier.log, earlier.open_trades)
    touches, record = touch_buffers(len(bars)), parameters.record()
    while (walked := walk(prices, state, log, touches, walked, tail, record)) < len(bars):
        log = enlarged(EventLog(log.versions, log.trades), log.open)
    versions, trades = log.versions[: state["version_count"]], log.trades[: state["trade_count"]]
    return DetectorRun(
        len(bars),
        np.array([state], STATE),
        EventLog(versions.copy(), trades.copy()),
        log.open[: state["open_count"]].copy(),
    )


def furthest(
    walked: DetectorRun, series: Series, parameters: Parameters = DEFAULTS, *, gap_days: int = 10
) -> tuple[Record, Finding]:
    """The pair of live lines that comes furthest at the end of a walk, as a `VERSION` record, and
    the rule that it fails. It is named and has its quality if it fails none but the score.
    """
    bars, record = series.bars, parameters.record()
    tail = max(0, len(bars) - reach(parameters))
    prices = walked_prices(series, parameters, gap_days, tail)
    flag_known_swings(prices, tail + parameters.atr_bars + 1, len(bars), record)
    state = walked.state.copy()[0]
    finding = furthest_pair(prices, state, touch_buffers(len(bars)), len(bars) - 1, record)
    return state["candidate"], Finding(*finding)


def reach(parameters: Parameters) -> int:
    """How many bars before the first new one a walk may read: more than the longest setup, the bars
    before it that are a part of its shape, and the window of their ATR.
    """
    longest = max(parameters.length_expiry, parameters.long_line_bars)
    before = longest + parameters.pole_bars + parameters.approach_bars + parameters.atr_bars
    return longest + before + parameters.history_bars


def enlarged(log: EventLog, open_trades: Indices) -> Log:
    """A log with at least twice the room, and as much behind its rows as a new log has."""
    new = new_log()
    trades = with_room(log.trades, max(len(new.trades), len(log.trades)))
    return Log(
        with_room(log.versions, max(len(new.versions), len(log.versions))),
        trades,
        with_room(open_trades, len(trades) - len(open_trades)),
    )


def with_room(rows: Rows, room: int) -> Rows:
    """A copy of rows with room for more behind them."""
    larger = np.empty(len(rows) + room, rows.dtype)
    larger[: len(rows)] = rows  # numpy's concatenate copies records field by field
    return larger


def touches_of(
    bars: Bars, version: Record, upto: int, parameters: Parameters = DEFAULTS
) -> tuple[Indices, Indices]:
    """The bars that touch the upper and the lower line of a version, as known at bar `upto`.

    The rule is the kernel's, except that each list begins at the start of its own line, from which
    the line is drawn; the kernel counts from the earlier start of the two. If a data gap ended the
    version, `upto` must lie before it.
    """
    start = int(start_of(version))
    # The ATR of a bar needs the true ranges before it, and the first of them the close before it.
    origin = max(0, start - parameters.atr_bars)
    prices = prices_of(bars.take(slice(origin, upto + 1)), parameters)
    record = parameters.record()
    flag_swings(prices, version["scale"], record)
    lines = lines_of(version, origin)
    found = touch_buffers(len(prices))
    touches = [
        find_touches(
            prices,
            lines,
            int(version["scale"]),
            side,
            (int(lines[side]["start"]), len(prices) - 1),
            record,
            found[side],
        )
        for side in (UPPER, LOWER)
    ]
    upper, lower = (found[side, : touches[side].number] + origin for side in (UPPER, LOWER))
    return upper, lower


def resolve(bars: Bars, trades: Rows) -> None:
    """Resolve open `TRADE` rows by the bars after their entries; undecided ones stay open."""
    read = np.empty(len(bars), BAR)
    read["open"], read["high"], read["low"] = bars.open, bars.high, bars.low
    resolve_draws(read, trades)


def close_at_end(bars: Bars, trades: Rows) -> None:
    """Close the open `TRADE` rows of a listing that ended with the last bar, at its close.

    Nothing could be sold after that close, so a trade that was entered there never was.
    """
    last = len(bars) - 1
    left = (trades["outcome"] == Outcome.OPEN) & (trades["entry"] < last)
    trades["outcome"][left], trades["exit"][left] = Outcome.DELISTED, last
    trades["exit_price"][left] = bars.close[last]


def line_values(version: Record, bar: int) -> tuple[float, float]:
    """The log prices of a version's upper and lower line at a bar, past or future."""
    return upper_at(version, bar), lower_at(version, bar)


def plan_of(
    version: Record, atr: float, direction: int, bar: int, parameters: Parameters
) -> Levels:
    """The plan of a version for a breakout in a direction at a bar, such as the next bar."""
    return plan_at(version, atr, direction, bar, parameters.record())


def log_atrs(bars: Bars, parameters: Parameters = DEFAULTS) -> Floats:
    """The log ATR at every bar: the plain mean of the last 14 true ranges in log price."""
    atr: Floats = prices_of(bars, parameters)["atr"]
    return atr


def last_atr(bars: Bars, parameters: Parameters) -> float:
    """The log ATR at the last bar."""
    recent = bars.take(slice(max(0, len(bars) - parameters.atr_bars - 1), None))
    return float(prices_of(recent, parameters)["atr"][-1])


def prices_of(bars: Bars, parameters: Parameters, tail: int = 0) -> Rows:
    """The bars as `PRICE` records for the kernel, as one segment without data gaps.

    Those before `tail` are left empty, and take no memory; the ATR needs some bars behind it.
    """
    prices = np.zeros(len(bars), PRICE)
    filled, read = prices[tail:], bars.take(slice(tail, None))
    filled["open"] = read.open
    filled["high"] = read.high
    filled["low"] = read.low
    filled["close"] = read.close
    fill_logs(filled, parameters.record())
    return prices


def walked_prices(series: Series, parameters: Parameters, gap_days: int, tail: int = 0) -> Rows:
    """The bars of a series as a walk reads them: a data gap begins a segment, and an idle bar is a
    segment of its own.
    """
    gaps, idle = np.diff(series.bars.date) > gap_days, series.idle
    begins = np.concatenate([idle[:1], gaps | idle[1:] | idle[:-1]])
    prices = prices_of(series.bars, parameters, tail)
    prices["segment"][tail:] = starts(begins)[tail:]
    prices["announced"][tail:] = series.announced[tail:]
    return prices


def lines_of(version: Record, origin: int) -> Rows:
    """The two lines of a version as `LINE` records, with bars counted from an origin."""
    lines = np.zeros(2, LINE)
    lines["start"] = version["upper_start"] - origin, version["lower_start"] - origin
    lines["value"] = version["upper_value"], -version["lower_value"]
    lines["slope"] = version["upper_slope"], -version["lower_slope"]
    return lines


def touch_buffers(bars: int) -> Indices:
    """Room for the touches of both lines."""
    return np.empty((2, bars), np.int64)

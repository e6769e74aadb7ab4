"""Trades: entered at the close of a breakout bar, exited at a frozen stop or target.

The rules are those of docs/detector.md section 6. Placebo trades are resolved by the same rule,
without a detector: `screener.nightly.results.placebo` draws their entries.
"""

from __future__ import annotations

import numpy as np

from screener.nightly.detector.events import EndReason, Outcome, Rows
from screener.nightly.detector.kernel.compiler import Record, compiled
from screener.nightly.detector.kernel.state import Log
from screener.nightly.detector.kernel.versions import Levels, plan_at
from screener.nightly.detector.parameters import Parameters


@compiled
def resolve_trades(prices: Rows, log: Log, state: Record, bar: int) -> None:
    """Resolve the open trades that a bar decides, and remove them from the list of open trades."""
    price = prices[bar]
    index = 0
    while index < state.open_count:
        trade = log.trades[log.open[index]]
        resolve_trade(trade, price, bar)
        if trade.outcome == Outcome.OPEN:
            index += 1
        else:
            state.open_count -= 1
            log.open[index] = log.open[state.open_count]


@compiled
def resolve_trade(trade: Record, price: Record, bar: int) -> None:
    """Resolve a trade if a bar hits its stop or target; the stop comes first if it hits both.

    A gap through the stop worsens the exit price; a gap past the target does not improve it.
    """
    if trade.direction > 0:
        stopped = price.low <= trade.stop_price
        reached = price.high >= trade.target_price
        worse = min(price.open, trade.stop_price)
    else:
        stopped = price.high >= trade.stop_price
        reached = price.low <= trade.target_price
        worse = max(price.open, trade.stop_price)
    if stopped or reached:
        trade.exit = bar
        trade.exit_price = worse if stopped else trade.target_price
        trade.outcome = Outcome.LOSS if stopped else Outcome.WIN


@compiled
def enter(
    price: Record,
    log: Log,
    state: Record,
    row: int,
    direction: int,
    bar: int,
    parameters: Parameters,
) -> int:
    """Open a trade on the breakout of a version, unless the close is at or past target or stop.

    Nor is a trade opened that nobody could expect, because the night before left the symbol out.
    Returns the end reason of the version, TRIGGERED or MISSED.
    """
    version = log.versions[row]
    plan = plan_at(version, price.atr, direction, bar, parameters)
    if not can_enter(price, plan, direction):
        return EndReason.MISSED
    trade = log.trades[state.trade_count]
    trade.version = row
    trade.direction = direction
    trade.entry = bar
    trade.entry_price = price.close
    trade.stop_price = np.exp(plan.stop)
    trade.target_price = np.exp(plan.target)
    trade.atr = price.atr
    keep_open(state, log, trade)
    return EndReason.TRIGGERED


@compiled
def can_enter(price: Record, plan: Levels, direction: int) -> bool:
    """Whether a close is short of the target and the stop, and the night before served them."""
    if not price.announced:
        return False
    if direction * (np.exp(plan.target) - price.close) <= 0.0:
        return False
    return bool(direction * (price.close - np.exp(plan.stop)) > 0.0)


@compiled
def keep_open(state: Record, log: Log, trade: Record) -> None:
    """Add the trade that was just written to the open ones."""
    trade.exit = -1
    trade.exit_price = np.nan
    trade.outcome = Outcome.OPEN
    log.open[state.open_count] = state.trade_count
    state.open_count += 1
    state.trade_count += 1


# The fields of a `PRICE` record that the rule reads; it needs no logs and no swings.
BAR = np.dtype([("open", "f8"), ("high", "f8"), ("low", "f8")])


@compiled
def resolve_draws(bars: Rows, trades: Rows) -> None:
    """Resolve open `TRADE` rows by the `BAR` rows after their entries; undecided ones stay open.

    A trade that enters at or past the last bar stays open too.
    """
    for trade in trades:
        for bar in range(trade.entry + 1, len(bars)):
            resolve_trade(trade, bars[bar], bar)
            if trade.outcome != Outcome.OPEN:
                break

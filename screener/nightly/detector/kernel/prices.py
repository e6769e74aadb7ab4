"""Prices: one symbol's bars as the kernel uses them: log prices, ATR, swings and data gaps.

The lower side is handled by negation. In the space of a side, extremes and closes are log prices on
the upper side and negated log prices on the lower side. Every line is then an upper bound, and one
piece of code serves both sides. Swings are the local extremes that lines are drawn through
(docs/detector.md section 2).
"""

from __future__ import annotations

import numpy as np

from screener.nightly.bars import Floats
from screener.nightly.detector.events import Rows, Scale
from screener.nightly.detector.kernel.compiler import Record, compiled
from screener.nightly.detector.parameters import Parameters

UPPER = 0
LOWER = 1

# One array of records instead of an array per column: numba counts references to every array that a
# function takes, with atomic instructions that once took half of the run time.
PRICE = np.dtype(
    [
        ("open", "f8"),  # quote currency
        ("high", "f8"),
        ("low", "f8"),
        ("close", "f8"),
        ("extreme", "f8", (2,)),  # [side], in the space of the side
        ("log_close", "f8", (2,)),  # [side], in the space of the side
        ("floor", "f8", (2,)),  # [side], the lowest value that a line of the side may have here
        ("gap", "f8"),  # log distance of the open from the close before
        ("atr", "f8"),  # plain mean of the last true ranges, in log price
        ("segment", "i8"),  # first bar after the last data gap
        ("announced", "i1"),  # whether the night before served the symbol
        ("swing", "i1", (2, 2)),  # [scale, side], 1 for a confirmed swing
        ("next_swing", "i4", (2, 2)),  # [scale, side], the next confirmed swing; 0: none yet
    ]
)


@compiled
def fill_logs(prices: Rows, parameters: Parameters) -> None:
    """Derive the logs, the ATR and the floors of every bar from its prices."""
    for price in prices:
        price.extreme[UPPER] = np.log(price.high)
        price.extreme[LOWER] = -np.log(price.low)
        price.log_close[UPPER] = np.log(price.close)
        price.log_close[LOWER] = -price.log_close[UPPER]
    for bar in range(1, len(prices)):
        prices[bar].gap = np.log(prices[bar].open) - prices[bar - 1].log_close[UPPER]
    fill_atr(prices, parameters.atr_bars)
    for price in prices:
        for side in range(2):
            price.floor[side] = max(
                price.extreme[side] - parameters.wick_tolerance * price.atr,
                price.log_close[side] - parameters.close_tolerance * price.atr,
            )


@compiled
def fill_atr(prices: Rows, atr_bars: int) -> None:
    """Fill in the ATR, summed afresh on each bar, so that it depends on the bars in its window."""
    ranges = true_ranges(prices)
    for bar in range(len(prices)):
        first = max(0, bar - atr_bars + 1)
        total = 0.0
        for recent in range(first, bar + 1):
            total += ranges[recent]
        prices[bar].atr = total / (bar - first + 1)


@compiled
def true_ranges(prices: Rows) -> Floats:
    """The true range of every bar in logs: its range, widened to the close before it."""
    ranges = np.empty(len(prices))
    for bar in range(len(prices)):
        top = prices[bar].extreme[UPPER]
        bottom = prices[bar].extreme[LOWER]
        if bar > 0:
            top = max(top, prices[bar - 1].log_close[UPPER])
            bottom = max(bottom, prices[bar - 1].log_close[LOWER])
        ranges[bar] = top + bottom
    return ranges


@compiled
def swing_order(scale: int, parameters: Parameters) -> int:
    """Bars on either side of a swing, which is also how many bars later it is confirmed."""
    if scale == Scale.SHORT:
        return parameters.short_swing_order
    return parameters.long_swing_order


@compiled
def is_swing(prices: Rows, side: int, bar: int, order: int) -> bool:
    """Whether a bar's extreme is no lower than those on its left and higher than on its right."""
    extreme = prices[bar].extreme[side]
    for distance in range(1, order + 1):
        if prices[bar - distance].extreme[side] > extreme:
            return False
        if prices[bar + distance].extreme[side] >= extreme:
            return False
    return True


@compiled
def flag_swing(prices: Rows, scale: int, side: int, swing: int) -> None:
    """Flag a confirmed swing, and link to it from all bars since the swing before it.

    Swings are flagged in order of time.
    """
    prices[swing].swing[scale, side] = 1
    for bar in range(swing - 1, -1, -1):
        prices[bar].next_swing[scale, side] = swing
        if prices[bar].swing[scale, side]:
            break


@compiled
def first_swing(prices: Rows, scale: int, side: int, bar: int) -> int:
    """The first confirmed swing from a bar on, or 0 if there is none."""
    price: Record = prices[bar]
    return bar if price.swing[scale, side] else price.next_swing[scale, side]


@compiled
def flag_swings(prices: Rows, scale: int, parameters: Parameters) -> None:
    """Flag all swings of a scale that have all their neighbours within the bars."""
    order = swing_order(scale, parameters)
    for bar in range(order, len(prices) - order):
        for side in range(2):
            if is_swing(prices, side, bar, order):
                flag_swing(prices, scale, side, bar)

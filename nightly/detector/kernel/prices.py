"""Prices: one symbol's bars as the kernel uses them: log prices, ATR, swings and data gaps.

The lower side is handled by negation. In the space of a side, extremes and closes are log prices on
the upper side and negated log prices on the lower side. Every line is then an upper bound, and one
piece of code serves both sides.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from nightly.bars import Floats
from nightly.events import Rows
from nightly.kernel.compiler import compiled

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
        ("gap", "f8"),  # log distance of the open from the close before
        ("atr", "f8"),  # plain mean of the last true ranges, in log price
        ("segment", "i8"),  # first bar after the last data gap
        ("announced", "i1"),  # whether the night before served the symbol
        ("swing", "i1", (2, 2)),  # [scale, side], 1 for a confirmed swing
        ("next_swing", "i4", (2, 2)),  # [scale, side], the next confirmed swing; 0: none yet
    ]
)


class Price(Protocol):
    """A `PRICE` record."""

    open: float
    high: float
    low: float
    close: float
    extreme: Floats
    log_close: Floats
    gap: float
    atr: float
    segment: int
    announced: int
    swing: npt.NDArray[np.int8]
    next_swing: npt.NDArray[np.int32]


@compiled
def fill_logs(prices: Rows, atr_bars: int) -> None:
    """Derive the logs and the ATR of every bar from its prices."""
    for price in prices:
        price.extreme[UPPER] = np.log(price.high)
        price.extreme[LOWER] = -np.log(price.low)
        price.log_close[UPPER] = np.log(price.close)
        price.log_close[LOWER] = -price.log_close[UPPER]
    for bar in range(1, len(prices)):
        prices[bar].gap = np.log(prices[bar].open) - prices[bar - 1].log_close[UPPER]
    fill_atr(prices, atr_bars)


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

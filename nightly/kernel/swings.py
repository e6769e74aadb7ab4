"""Swings: the local extremes that lines are drawn through (docs/detector.md section 2)."""

from __future__ import annotations

from nightly.events import Rows, Scale
from nightly.kernel.compiler import compiled
from nightly.kernel.prices import Price
from nightly.parameters import Parameters


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
    price: Price = prices[bar]
    return bar if price.swing[scale, side] else price.next_swing[scale, side]


@compiled
def flag_swings(prices: Rows, scale: int, parameters: Parameters) -> None:
    """Flag all swings of a scale that have all their neighbours within the bars."""
    order = swing_order(scale, parameters)
    for bar in range(order, len(prices) - order):
        for side in range(2):
            if is_swing(prices, side, bar, order):
                flag_swing(prices, scale, side, bar)

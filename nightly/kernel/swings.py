"""Swings: the local extremes that lines are drawn through (docs/detector.md section 2)."""

from __future__ import annotations

from nightly.events import Rows, Scale
from nightly.kernel.compiler import compiled
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
def flag_swings(prices: Rows, scale: int, parameters: Parameters) -> None:
    """Flag all swings of a scale that have all their neighbours within the bars."""
    order = swing_order(scale, parameters)
    for bar in range(order, len(prices) - order):
        for side in range(2):
            prices[bar].swing[scale, side] = is_swing(prices, side, bar, order)

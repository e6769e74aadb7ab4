"""Refit: fit a line to all its touches instead of the two swings that drew it.

Each swing misses the true line by chance. A fit to several swings misses it by less, so both the
line and its breakout are placed better (docs/detector.md section 2).
"""

from __future__ import annotations

from nightly.events import Rows
from nightly.kernel.compiler import compiled
from nightly.kernel.lines import NOT_A_BOUND, Line, value_at
from nightly.kernel.touches import Indices
from nightly.parameters import Parameters


@compiled
def refit(
    prices: Rows,
    side: int,
    line: Line,
    touches: Indices,
    count: int,
    bar: int,
    parameters: Parameters,
    fitted: Line,
) -> bool:
    """Write to `fitted` the least-squares fit of a line to its touches, moved clear of all closes.

    False if a close or wick lies too far beyond the fit. A line with few touches is only copied.
    """
    fitted.start = line.start
    fitted.value = line.value
    fitted.slope = line.slope
    fitted.last_touch = line.last_touch
    fitted.changed = line.changed
    if count < parameters.refit_touches:
        return True
    lay_through(prices, side, touches, count, fitted)
    shift = shift_to_clear(prices, side, fitted, bar, parameters)
    fitted.value += shift
    return shift != NOT_A_BOUND


@compiled
def lay_through(prices: Rows, side: int, touches: Indices, count: int, line: Line) -> None:
    """Give a line the value and slope of the least-squares fit to the extremes of its touches."""
    mean_bar = 0.0
    mean = 0.0
    for touch in touches[:count]:
        mean_bar += (touch - line.start) / count
        mean += prices[touch].extreme[side] / count
    covariance = 0.0
    variance = 0.0
    for touch in touches[:count]:
        distance = touch - line.start - mean_bar
        covariance += distance * (prices[touch].extreme[side] - mean)
        variance += distance * distance
    line.slope = covariance / variance
    line.value = mean - line.slope * mean_bar


@compiled
def shift_to_clear(prices: Rows, side: int, line: Line, bar: int, parameters: Parameters) -> float:
    """How far a line must move outward to clear every close since its start, or NOT_A_BOUND."""
    shift = 0.0
    for later in range(line.start, bar + 1):
        price = prices[later]
        value = value_at(line, later)
        beyond = price.log_close[side] - value
        if beyond > parameters.close_tolerance * price.atr:
            return NOT_A_BOUND
        if price.extreme[side] > value + parameters.wick_tolerance * price.atr:
            return NOT_A_BOUND
        shift = max(shift, beyond + parameters.close_clearance * price.atr)
    return shift

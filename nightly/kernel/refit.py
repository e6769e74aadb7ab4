"""Refit: fit lines to all their touches instead of the two swings that drew them.

Each swing misses the true line by chance. A fit to several swings misses it by less, so both the
line and its breakout are placed better (docs/detector.md section 2).
"""

from __future__ import annotations

from nightly.events import Rows
from nightly.kernel.compiler import compiled
from nightly.kernel.lines import NOT_A_BOUND, Line, copy_line, value_at
from nightly.kernel.pairs import converge
from nightly.kernel.prices import LOWER, UPPER
from nightly.kernel.state import State
from nightly.kernel.touches import Indices, contacts_of
from nightly.parameters import Parameters


@compiled
def refit_pair(
    prices: Rows, state: State, scale: int, touches: Indices, bar: int, parameters: Parameters
) -> bool:
    """Fit both drawn lines to their touches, in `state.refitted`; False if no such fit holds."""
    drawn = state.drawn
    fitted = state.refitted
    start = min(drawn[UPPER].start, drawn[LOWER].start)
    contacts = contacts_of(prices, drawn, scale, (start, bar), parameters, touches)
    for side in (UPPER, LOWER):
        copy_line(drawn[side], fitted[side])
        count = contacts.upper.number if side == UPPER else contacts.lower.number
        if count < parameters.refit_touches:
            continue
        lay_through(prices, side, touches[side, :count], fitted[side])
        shift = shift_to_clear(prices, side, fitted[side], bar, parameters)
        if shift == NOT_A_BOUND:
            return False
        fitted[side].value += shift
    return converge(fitted[UPPER], fitted[LOWER], prices[bar].atr, bar, parameters)


@compiled
def lay_through(prices: Rows, side: int, touches: Indices, line: Line) -> None:
    """Start a line at the first touch, on the least-squares fit to the extremes of all touches."""
    line.start = touches[0]
    mean_bar = 0.0
    mean = 0.0
    count = len(touches)
    for touch in touches:
        mean_bar += (touch - line.start) / count
        mean += prices[touch].extreme[side] / count
    covariance = 0.0
    variance = 0.0
    for touch in touches:
        distance = touch - line.start - mean_bar
        covariance += distance * (prices[touch].extreme[side] - mean)
        variance += distance * distance
    line.slope = covariance / variance
    line.value = mean - line.slope * mean_bar


@compiled
def shift_to_clear(prices: Rows, side: int, line: Line, bar: int, parameters: Parameters) -> float:
    """How far a line must move outward to contain every close since its start, or NOT_A_BOUND."""
    shift = 0.0
    for later in range(line.start, bar + 1):
        price = prices[later]
        value = value_at(line, later)
        beyond = price.log_close[side] - value
        if beyond > parameters.close_tolerance * price.atr:
            return NOT_A_BOUND
        if price.extreme[side] > value + parameters.wick_tolerance * price.atr:
            return NOT_A_BOUND
        shift = max(shift, beyond)
    return shift

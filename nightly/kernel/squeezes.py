"""Squeezes: a steep pole, then a small pattern that retraces little (docs/detector.md section 4).

A squeeze is tested in the space of its pole's side. There the tip is the highest extreme, so one
piece of code serves bullish and bearish squeezes.
"""

from __future__ import annotations

from nightly.events import Rows
from nightly.kernel.compiler import compiled
from nightly.kernel.legs import straightness
from nightly.kernel.pairs import Pair
from nightly.kernel.prices import LOWER, UPPER, Price
from nightly.parameters import Parameters

NO_POLE = 0.0


@compiled
def spans_squeeze(pair: Pair, parameters: Parameters) -> bool:
    """The tests of length, progress, alignment and recency on the short scale."""
    if pair.length < parameters.squeeze_length_min or pair.length > parameters.squeeze_length_max:
        return False
    if pair.progress < parameters.squeeze_progress_min or pair.progress > parameters.progress_max:
        return False
    if pair.later_start - pair.start > parameters.squeeze_start_offset_max * pair.length:
        return False
    return pair.idle <= parameters.squeeze_recency_max * pair.length


@compiled
def pole_of(
    prices: Rows, pair: Pair, upper_start: int, lower_start: int, bar: int, parameters: Parameters
) -> float:
    """The signed log height of the pole that precedes a pair, or NO_POLE."""
    drift = 0.5 * (pair.upper_move + pair.lower_move)
    if upper_start == pair.start:
        height = pole_height(prices, UPPER, pair.start, parameters)
        if height > 0.0 and fits_pole(prices, UPPER, pair, drift, height, bar, parameters):
            return height
    if lower_start == pair.start:
        height = pole_height(prices, LOWER, pair.start, parameters)
        if height > 0.0 and fits_pole(prices, LOWER, pair, -drift, height, bar, parameters):
            return -height
    return NO_POLE


@compiled
def pole_height(prices: Rows, side: int, tip: int, parameters: Parameters) -> float:
    """The log height of a steep run that ends at the tip, its highest extreme, or NO_POLE."""
    first = max(tip - parameters.pole_bars, prices[tip].segment)
    base = pole_base(prices, side, first, tip)
    # A run of one bar is a jump, not a pole.
    if base >= tip - 1:
        return NO_POLE
    top: Price = prices[tip]
    bottom: Price = prices[base]
    atr = bottom.atr
    height = float(top.extreme[side] + bottom.extreme[1 - side])
    if height < parameters.pole_height_min * atr:
        return NO_POLE
    if height / (tip - base) < parameters.pole_speed_min * atr:
        return NO_POLE
    if straightness(prices, base, tip) < parameters.pole_efficiency_min:
        return NO_POLE
    return height


@compiled
def pole_base(prices: Rows, side: int, first: int, tip: int) -> int:
    """The first bar with the lowest low before the tip, or the tip if an earlier bar exceeds it."""
    base = tip
    for bar in range(first, tip):
        if prices[bar].extreme[side] > prices[tip].extreme[side]:
            return tip
        if prices[bar].extreme[1 - side] > prices[base].extreme[1 - side]:
            base = bar
    return base


@compiled
def fits_pole(
    prices: Rows,
    side: int,
    pair: Pair,
    drift: float,
    height: float,
    bar: int,
    parameters: Parameters,
) -> bool:
    """Whether a pair is narrow compared with the pole, drifts little and retraces little of it."""
    if pair.width > parameters.pole_width_max * height:
        return False
    if drift < -parameters.drift_against_max or drift > parameters.drift_along_max:
        return False
    tip = prices[pair.start].extreme[side]
    for later in range(pair.start, bar + 1):
        if tip + prices[later].extreme[1 - side] > parameters.pole_retrace_max * height:
            return False
    return True

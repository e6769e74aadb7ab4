"""Pairs: the geometry of an upper and a lower line, and their fit to all their touches.

Each line is in the space of its side. The width between them is therefore the sum of their values,
and the lower line's slope in price is the negative of its slope (docs/detector.md section 3). Where
a function takes both lines of a pair as `lines`, they are `lines[side]`.
"""

from __future__ import annotations

from typing import NamedTuple

from screener.nightly.detector.events import Rows, Scale
from screener.nightly.detector.kernel.compiler import Record, compiled
from screener.nightly.detector.kernel.lines import NOT_A_BOUND, value_at
from screener.nightly.detector.kernel.prices import LOWER, UPPER
from screener.nightly.detector.kernel.touches import Indices, find_touches
from screener.nightly.detector.parameters import Parameters


class LinePair(NamedTuple):
    """The geometry of two lines as of a bar."""

    start: int  # bar of the earlier first touch
    later_start: int
    length: int
    idle: int  # bars since the older of the two lines' last touches
    width: float  # at the start
    height: float  # width at the later start
    progress: float  # share of the way from the start to the apex
    upper_move: float  # how far the line moves over the length, in widths
    lower_move: float


@compiled
def width_at(upper: Record, lower: Record, bar: int) -> float:
    """The log distance between two lines at a bar."""
    return value_at(upper, bar) + value_at(lower, bar)


@compiled
def converge(upper: Record, lower: Record, atr: float, bar: int, parameters: Parameters) -> bool:
    """Whether two lines converge and are still far enough apart today."""
    if -lower.slope <= upper.slope:
        return False
    return width_at(upper, lower, bar) > parameters.width_min * atr


@compiled
def pair_of(upper: Record, lower: Record, bar: int) -> LinePair:
    """Measure two converging lines as of a bar."""
    start = min(upper.start, lower.start)
    later_start = max(upper.start, lower.start)
    length = bar - start
    width = width_at(upper, lower, start)
    return LinePair(
        start,
        later_start,
        length,
        bar - min(upper.last_touch, lower.last_touch),
        width,
        width_at(upper, lower, later_start),
        1.0 - width_at(upper, lower, bar) / width,
        upper.slope * length / width,
        -lower.slope * length / width,
    )


@compiled
def typical_atr(prices: Rows, pair: LinePair, bar: int) -> float:
    """The mean of the ATR at the later start and today."""
    later: Record = prices[pair.later_start]
    today: Record = prices[bar]
    return float(0.5 * (later.atr + today.atr))


@compiled
def refit_pair(
    prices: Rows, state: Record, scale: int, touches: Indices, bar: int, parameters: Parameters
) -> bool:
    """Fit both drawn lines to their touches, in `state.refitted`; False if no such fit holds."""
    drawn = state.drawn
    fitted = state.refitted
    span = (min(drawn[UPPER].start, drawn[LOWER].start), bar)
    for side in range(2):
        fitted[side] = drawn[side]
        found = touches[side]
        count = find_touches(prices, drawn, scale, side, span, parameters, found).number
        if count < parameters.refit_touches:
            continue
        lay_through(prices, side, found[:count], fitted[side])
        fitted[side].last_touch = found[count - 1]
        shift = shift_to_clear(prices, side, fitted[side], bar, parameters)
        if shift == NOT_A_BOUND:
            return False
        fitted[side].value += shift
    if not converge(fitted[UPPER], fitted[LOWER], prices[bar].atr, bar, parameters):
        return False
    if scale == Scale.LONG:
        lay_level(prices, fitted, bar, parameters)
    return True


@compiled
def lay_level(prices: Rows, lines: Rows, bar: int, parameters: Parameters) -> None:
    """Turn the flatter of two lines level about the middle of its touches, where it hardly moves
    and the level line contains every close as well: so readers draw it.
    """
    pair = pair_of(lines[UPPER], lines[LOWER], bar)
    upper, lower = abs(pair.upper_move), abs(pair.lower_move)
    flatter, steeper = min(upper, lower), max(upper, lower)
    if flatter > parameters.level_move or flatter > parameters.level_share * steeper:
        return
    side = UPPER if upper < lower else LOWER
    line = lines[side]
    value, slope = line.value, line.slope
    line.value += 0.5 * slope * (line.last_touch - line.start)
    line.slope = 0.0
    shift = shift_to_clear(prices, side, line, bar, parameters)
    line.value += shift
    apart = converge(lines[UPPER], lines[LOWER], prices[bar].atr, bar, parameters)
    if shift == NOT_A_BOUND or not apart:
        line.value, line.slope = value, slope


@compiled
def lay_through(prices: Rows, side: int, touches: Indices, line: Record) -> None:
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
def shift_to_clear(
    prices: Rows, side: int, line: Record, bar: int, parameters: Parameters
) -> float:
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

"""Pairs: the geometry of an upper and a lower line, and the pattern type that it amounts to.

Each line is in the space of its side. The width between them is therefore the sum of their values,
and the lower line's slope in price is the negative of its slope (docs/detector.md section 3). Where
a function takes both lines of a pair as `lines`, they are `lines[side]`.
"""

from __future__ import annotations

from typing import NamedTuple

from nightly.events import PatternType, Rows
from nightly.kernel.compiler import compiled
from nightly.kernel.lines import Line, value_at
from nightly.kernel.prices import Price
from nightly.parameters import Parameters

NO_PATTERN = 0


class Pair(NamedTuple):
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
def width_at(upper: Line, lower: Line, bar: int) -> float:
    """The log distance between two lines at a bar."""
    return value_at(upper, bar) + value_at(lower, bar)


@compiled
def converge(upper: Line, lower: Line, atr: float, bar: int, parameters: Parameters) -> bool:
    """Whether two lines converge and are still far enough apart today."""
    if -lower.slope <= upper.slope:
        return False
    return width_at(upper, lower, bar) > parameters.width_min * atr


@compiled
def pair_of(upper: Line, lower: Line, bar: int) -> Pair:
    """Measure two converging lines as of a bar."""
    start = min(upper.start, lower.start)
    later_start = max(upper.start, lower.start)
    length = bar - start
    width = width_at(upper, lower, start)
    return Pair(
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
def typical_atr(prices: Rows, pair: Pair, bar: int) -> float:
    """The mean of the ATR at the later start and today."""
    later: Price = prices[pair.later_start]
    today: Price = prices[bar]
    return 0.5 * (later.atr + today.atr)


@compiled
def wedge_or_triangle(pair: Pair, parameters: Parameters) -> int:
    """The pattern type by the moves of both lines, or NO_PATTERN if they fit no type."""
    flat = parameters.flat_slope
    wedge = parameters.wedge_slope
    symmetrical = parameters.symmetrical_slope
    upper = pair.upper_move
    lower = pair.lower_move
    kind = NO_PATTERN
    if upper > wedge and lower > wedge:
        kind = PatternType.RISING_WEDGE
    elif upper < -wedge and lower < -wedge:
        kind = PatternType.FALLING_WEDGE
    elif upper < -symmetrical and lower > symmetrical:
        kind = PatternType.SYMMETRICAL_TRIANGLE
    elif abs(upper) <= flat and lower > flat:
        kind = PatternType.ASCENDING_TRIANGLE
    elif abs(lower) <= flat and upper < -flat:
        kind = PatternType.DESCENDING_TRIANGLE
    return kind


@compiled
def is_squeeze(kind: int) -> bool:
    """Whether a pattern type is a squeeze, which has rules and weights of its own."""
    return bool(kind == PatternType.BULLISH_SQUEEZE or kind == PatternType.BEARISH_SQUEEZE)


@compiled
def direction_of(kind: int, approach: float) -> int:
    """The direction a wedge or triangle is expected to break: +1 or -1."""
    if kind == PatternType.FALLING_WEDGE or kind == PatternType.ASCENDING_TRIANGLE:
        return 1
    if kind == PatternType.SYMMETRICAL_TRIANGLE:
        return 1 if approach >= 0 else -1
    return -1

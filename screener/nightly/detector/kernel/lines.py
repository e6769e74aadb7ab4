"""Lines: trend lines through two swings of one side and scale (docs/detector.md section 2).

Values are in the space of the line's side (see `prices`), so every line is an upper bound there, a
lower line too.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from screener.nightly.detector.events import Rows
from screener.nightly.detector.kernel.compiler import Record, compiled
from screener.nightly.detector.kernel.prices import UPPER
from screener.nightly.detector.parameters import Parameters

# This limit changes results: on a full side a new line replaces the one with the oldest touch.
LINES_PER_SIDE = 28

Dues = npt.NDArray[np.int32]

LINE = np.dtype(
    [
        ("start", "i8"),  # bar of the first touch
        ("value", "f8"),  # value there
        ("slope", "f8"),  # per bar
        ("last_touch", "i8"),
        ("changed", "i8"),  # bar at which it was drawn or newly touched
    ]
)

NOT_A_BOUND = -1.0


@compiled
def value_at(line: Record, bar: int) -> float:
    """The value of a line at a bar, in the space of its side."""
    return float(line.value + line.slope * (bar - line.start))


@compiled
def move_due(due: Dues, side: int, slot: int, to: int) -> None:
    """Follow a line of a side that moves to another slot."""
    for other in range(LINES_PER_SIDE):
        if side == UPPER:
            due[to, other] = due[slot, other]
        else:
            due[other, to] = due[other, slot]


@compiled
def touch_lines(lines: Rows, count: int, swing: int, reach: float, bar: int) -> None:
    """Record a new swing as the last touch of every line that it touches."""
    for index in range(count):
        line = lines[index]
        if reach >= value_at(line, swing):
            line.last_touch = swing
            line.changed = bar


@compiled
def draw_lines(
    prices: Rows,
    lines: Rows,
    count: int,
    sort: tuple[int, int],
    swing: int,
    first: int,
    bar: int,
    parameters: Parameters,
) -> int:
    """Draw lines of a sort (scale, side) from earlier swings to a new one; return the new count.

    One backward sweep suffices: it tracks the largest slope that all bars passed so far allow, and
    tests each start against it.
    """
    scale, side = sort
    steepest = parameters.line_slope_max * prices[bar].atr
    tolerance = parameters.duplicate_tolerance * prices[bar].atr
    end = prices[swing].extreme[side]
    admitted = np.inf
    for start in range(swing - 1, first - 1, -1):
        price = prices[start]
        if price.swing[scale, side] and swing - start >= parameters.anchor_spacing:
            slope = (end - price.extreme[side]) / (swing - start)
            if slope <= admitted and abs(slope) <= steepest:
                shift = outward_shift(prices, side, start, swing, slope, bar, parameters)
                if shift != NOT_A_BOUND:
                    value = price.extreme[side] + shift
                    count = add_line(lines, count, start, value, slope, swing, bar, tolerance)
        admitted = min(admitted, (end - price.floor[side]) / (swing - start))
        if admitted < -steepest:
            break
    return count


@compiled
def outward_shift(
    prices: Rows,
    side: int,
    start: int,
    swing: int,
    slope: float,
    bar: int,
    parameters: Parameters,
) -> float:
    """How far a line must move outward to contain every close, or NOT_A_BOUND.

    On a sloped line the extreme of a swing is not the point where the line would rest on the
    series, so some tolerance is needed. The shift ensures that no close is beyond the line so far.
    """
    shift = 0.0
    end = prices[swing].extreme[side]
    # The bars since the swing first, because the slope was tested against those before it.
    for k in range(bar, start - 1, -1):
        price = prices[k]
        value = end + slope * (k - swing)
        beyond = price.log_close[side] - value
        if beyond > shift:
            if beyond > parameters.close_tolerance * price.atr:
                return NOT_A_BOUND
            shift = beyond
        if k > swing and price.extreme[side] > value + parameters.wick_tolerance * price.atr:
            return NOT_A_BOUND
    return shift


@compiled
def add_line(
    lines: Rows,
    count: int,
    start: int,
    value: float,
    slope: float,
    swing: int,
    bar: int,
    tolerance: float,
) -> int:
    """Add a line unless it nearly repeats another; return the new count of lines."""
    slot = count
    for index in range(count):
        line = lines[index]
        today = value_at(line, bar) - (value + slope * (bar - start))
        if abs(today) < tolerance and abs(value_at(line, start) - value) < tolerance:
            return count
    if count == LINES_PER_SIDE:
        slot = stalest_line(lines)
        count -= 1
    line = lines[slot]
    line.start = start
    line.value = value
    line.slope = slope
    line.last_touch = swing
    line.changed = bar
    return count + 1


@compiled
def stalest_line(lines: Rows) -> int:
    """The index of the line whose last touch is oldest."""
    stalest = 0
    for index in range(1, len(lines)):
        if lines[index].last_touch < lines[stalest].last_touch:
            stalest = index
    return stalest

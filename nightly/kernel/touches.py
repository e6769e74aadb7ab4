"""Touches: the swings that meet a line, and how the touches of two lines alternate.

The next touch of a line counts only after price has retreated from it across the pattern, so a flat
top is one touch and not five (docs/detector.md section 2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from nightly.events import Rows, Scale
from nightly.kernel.compiler import compiled
from nightly.kernel.lines import Line, value_at
from nightly.kernel.swings import swing_order
from nightly.parameters import Parameters

Indices = npt.NDArray[np.int64]


class Touches(NamedTuple):
    """The number of touches of a line, and their total distance from it."""

    number: int
    residual: float  # summed distance to the line, in ATR


class Sequence(NamedTuple):
    """The touches of both lines in order of time."""

    crossings: int  # side changes
    largest_gap: int  # bars without a touch, ends included
    last: int  # bar of the newest touch


@compiled
def touch_spacing(scale: int, parameters: Parameters) -> int:
    """The minimum number of bars between two touches of one line."""
    if scale == Scale.SHORT:
        return parameters.short_touch_spacing
    return parameters.long_touch_spacing


@compiled
def retreated(
    prices: Rows, side: int, line: Line, opposite: Line, after: int, before: int, share: float
) -> bool:
    """Whether price moved away from a line by a share of the width, strictly between two bars."""
    for bar in range(after + 1, before):
        value = value_at(line, bar)
        width = value + value_at(opposite, bar)
        if value + prices[bar].extreme[1 - side] >= share * width:
            return True
    return False


@compiled
def find_touches(
    prices: Rows,
    scale: int,
    side: int,
    line: Line,
    opposite: Line,
    start: int,
    bar: int,
    parameters: Parameters,
    found: Indices,
) -> Touches:
    """Write to `found` the touches of a line by swings from `start` on, as known at a bar."""
    spacing = touch_spacing(scale, parameters)
    count = 0
    residual = 0.0
    for swing in range(start, bar - swing_order(scale, parameters) + 1):
        price = prices[swing]
        if not price.swing[scale, side]:
            continue
        distance = price.extreme[side] - value_at(line, swing)
        if distance < -parameters.touch_tolerance * price.atr:
            continue
        if distance > parameters.wick_tolerance * price.atr:
            continue
        if count > 0:
            newest = found[count - 1]
            if swing - newest < spacing or not retreated(
                prices, side, line, opposite, newest, swing, parameters.retreat_min
            ):
                continue
        found[count] = swing
        count += 1
        residual += abs(distance) / max(price.atr, 1e-9)
    return Touches(count, residual)


@compiled
def in_sequence(
    upper: Indices, upper_count: int, lower: Indices, lower_count: int, start: int, bar: int
) -> Sequence:
    """Merge the touches of both lines between the start of a pattern and a bar."""
    crossings = 0
    largest_gap = 0
    last = start
    from_upper = 0
    from_lower = 0
    was_upper = False
    while from_upper < upper_count or from_lower < lower_count:
        is_upper = from_lower == lower_count or (
            from_upper < upper_count and upper[from_upper] <= lower[from_lower]
        )
        touch = upper[from_upper] if is_upper else lower[from_lower]
        if from_upper + from_lower > 0 and is_upper != was_upper:
            crossings += 1
        largest_gap = max(largest_gap, touch - last)
        last = touch
        was_upper = is_upper
        if is_upper:
            from_upper += 1
        else:
            from_lower += 1
    return Sequence(crossings, max(largest_gap, bar - last), last)

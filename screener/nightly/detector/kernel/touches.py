"""Touches: the swings that meet a line, and how the touches of two lines alternate.

The next touch of a line counts only after price has retreated from it across the pattern, so a flat
top is one touch and not five (docs/detector.md section 2).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from screener.nightly.detector.events import Rows, Scale
from screener.nightly.detector.kernel.compiler import Record, compiled
from screener.nightly.detector.kernel.lines import value_at
from screener.nightly.detector.kernel.prices import LOWER, UPPER, first_swing, swing_order
from screener.nightly.detector.parameters import Parameters

Indices = npt.NDArray[np.int64]

NEITHER = -1


class Touches(NamedTuple):
    """The touches of a line: how many, how far from it, and between which bars."""

    number: int
    residual: float  # summed distance to the line, in ATR
    wick: float  # summed length of the wicks that touch, in ATR
    first: int  # bar of the first
    last: int  # bar of the last


class Sequence(NamedTuple):
    """The touches of both lines in order of time."""

    crossings: int  # side changes
    largest_gap: int  # bars without a touch, ends included
    last: int  # bar of the newest touch


class Contacts(NamedTuple):
    """The touches of both lines of a pair, and how they alternate."""

    upper: Touches
    lower: Touches
    sequence: Sequence


@compiled
def touch_spacing(scale: int, parameters: Parameters) -> int:
    """The minimum number of bars between two touches of one line."""
    if scale == Scale.SHORT:
        return parameters.short_touch_spacing
    return parameters.long_touch_spacing


@compiled
def retreated(prices: Rows, lines: Rows, side: int, after: int, before: int, share: float) -> bool:
    """Whether price moved away from a line by a share of the width, strictly between two bars."""
    line = lines[side]
    opposite = lines[1 - side]
    for bar in range(after + 1, before):
        value = value_at(line, bar)
        width = value + value_at(opposite, bar)
        if value + prices[bar].extreme[1 - side] >= share * width:
            return True
    return False


@compiled
def touches_line(
    price: Record, side: int, line: Record, swing: int, parameters: Parameters
) -> bool:
    """Whether the extreme of a swing is near enough to a line to touch it."""
    distance = price.extreme[side] - value_at(line, swing)
    if distance < -parameters.touch_tolerance * price.atr:
        return False
    return bool(distance <= parameters.wick_tolerance * price.atr)


@compiled
def wick_of(price: Record, side: int) -> float:
    """The log distance from the body of a bar to its extreme on a side."""
    opened = np.log(price.open) if side == UPPER else -np.log(price.open)
    return float(price.extreme[side] - max(opened, price.log_close[side]))


@compiled
def find_touches(
    prices: Rows,
    lines: Rows,
    scale: int,
    side: int,
    span: tuple[int, int],
    parameters: Parameters,
    found: Indices,
) -> Touches:
    """Write to `found` the touches of a line from the first bar of a span, as known at the last."""
    spacing = touch_spacing(scale, parameters)
    line = lines[side]
    count = 0
    residual = wick = 0.0
    newest = span[0] - spacing
    swing = first_swing(prices, scale, side, span[0])
    while 0 < swing <= span[1] - swing_order(scale, parameters):
        price = prices[swing]
        if (
            swing - newest >= spacing
            and touches_line(price, side, line, swing, parameters)
            and (
                count == 0 or retreated(prices, lines, side, newest, swing, parameters.retreat_min)
            )
        ):
            found[count] = newest = swing
            count += 1
            atr = max(price.atr, 1e-9)
            residual += abs(price.extreme[side] - value_at(line, swing)) / atr
            wick += wick_of(price, side) / atr
        swing = price.next_swing[scale, side]
    if count == 0:
        return Touches(0, 0.0, 0.0, span[0], span[0])
    return Touches(count, residual, wick, found[0], found[count - 1])


@compiled
def contacts_of(
    prices: Rows,
    lines: Rows,
    scale: int,
    span: tuple[int, int],
    parameters: Parameters,
    found: Indices,
) -> Contacts:
    """The touches of both lines within a span; their bars are written to `found[side]`."""
    upper = find_touches(prices, lines, scale, UPPER, span, parameters, found[UPPER])
    lower = find_touches(prices, lines, scale, LOWER, span, parameters, found[LOWER])
    return Contacts(upper, lower, in_sequence(found, upper.number, lower.number, span))


@compiled
def in_sequence(
    found: Indices, upper_count: int, lower_count: int, span: tuple[int, int]
) -> Sequence:
    """Merge the touches of both lines in order of time."""
    crossings = 0
    largest_gap = 0
    last = span[0]
    i = 0
    j = 0
    side = NEITHER
    while i < upper_count or j < lower_count:
        upper = found[UPPER, i] if i < upper_count else span[1] + 1
        lower = found[LOWER, j] if j < lower_count else span[1] + 1
        touch = min(upper, lower)
        if upper == lower:
            # One bar touches both lines: first the one that price came from.
            crossings += 1
            side = NEITHER if side == NEITHER else 1 - side
        else:
            now = UPPER if upper < lower else LOWER
            crossings += side == 1 - now
            side = now
        largest_gap = max(largest_gap, touch - last)
        last = touch
        i += upper == touch
        j += lower == touch
    return Sequence(crossings, max(largest_gap, span[1] - last), last)

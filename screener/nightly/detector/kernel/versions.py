"""Versions: the lines of a served drawing (`VERSION` records, values in log price), and the
trigger, stop and target that they give a breakout (docs/detector.md section 6).
"""

from __future__ import annotations

from typing import NamedTuple

from screener.nightly.detector.events import PatternType, Rows
from screener.nightly.detector.kernel.compiler import Record, compiled
from screener.nightly.detector.kernel.prices import LOWER, UPPER
from screener.nightly.detector.parameters import Parameters


@compiled
def upper_at(version: Record, bar: int) -> float:
    """The upper line's log price at a bar."""
    return float(version.upper_value + version.upper_slope * (bar - version.upper_start))


@compiled
def lower_at(version: Record, bar: int) -> float:
    """The lower line's log price at a bar."""
    return float(version.lower_value + version.lower_slope * (bar - version.lower_start))


@compiled
def lay_lines(version: Record, lines: Rows) -> None:
    """Write the two lines of a version to `lines[side]`, in the space of their sides."""
    upper = lines[UPPER]
    lower = lines[LOWER]
    upper.start = version.upper_start
    upper.value = version.upper_value
    upper.slope = version.upper_slope
    lower.start = version.lower_start
    lower.value = -version.lower_value
    lower.slope = -version.lower_slope
    upper.last_touch = lower.last_touch = version.last_touch


@compiled
def start_of(version: Record) -> int:
    """The bar at which the earlier line starts."""
    return int(min(version.upper_start, version.lower_start))


@compiled
def armed_direction(version: Record) -> int:
    """The side whose break triggers, or 0 if the break of either side does."""
    if version.type == PatternType.SYMMETRICAL_TRIANGLE:
        return 0
    return int(version.direction)


@compiled
def overlap(start: int, end: int, other_start: int, other_end: int) -> float:
    """Intersection over union of two spans of bars; negative when they are apart."""
    shared = min(end, other_end) - max(start, other_start)
    return shared / (max(end, other_end) - min(start, other_start))


class Levels(NamedTuple):
    """Trigger, stop and target in log price."""

    trigger: float
    stop: float
    target: float


@compiled
def plan_at(
    version: Record, atr: float, direction: int, bar: int, parameters: Parameters
) -> Levels:
    """The plan of a version for a breakout in a direction at a bar.

    The stop is the opposite line, but at least `stop_distance_min` ATR from the broken line.
    """
    upper, lower = upper_at(version, bar), lower_at(version, bar)
    trigger, stop = (upper, lower) if direction > 0 else (lower, upper)
    least = parameters.stop_distance_min * atr
    if direction * (trigger - stop) < least:
        stop = trigger - direction * least
    return Levels(trigger, stop, trigger + direction * version.height)

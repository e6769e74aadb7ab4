"""Versions: the geometry of a served pair of lines (`VERSION` records, values in log price)."""

from __future__ import annotations

from typing import Protocol

from nightly.events import PatternType, Rows
from nightly.kernel.compiler import compiled
from nightly.kernel.prices import LOWER, UPPER


class Version(Protocol):
    """A `VERSION` record."""

    type: int
    scale: int
    direction: int
    upper_start: int
    upper_value: float
    upper_slope: float
    lower_start: int
    lower_value: float
    lower_slope: float
    first_served: int
    end: int
    end_reason: int
    last_touch: int
    quality: float
    height: float
    width: float
    approach: float
    upper_touches: int
    lower_touches: int
    crossings: int
    lineage: int
    attempt: int


@compiled
def upper_at(version: Version, bar: int) -> float:
    """The upper line's log price at a bar."""
    return version.upper_value + version.upper_slope * (bar - version.upper_start)


@compiled
def lower_at(version: Version, bar: int) -> float:
    """The lower line's log price at a bar."""
    return version.lower_value + version.lower_slope * (bar - version.lower_start)


@compiled
def lay_lines(version: Version, lines: Rows) -> None:
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
def start_of(version: Version) -> int:
    """The bar at which the earlier line starts."""
    return min(version.upper_start, version.lower_start)


@compiled
def armed_direction(version: Version) -> int:
    """The side whose break triggers, or 0 if the break of either side does."""
    if version.type == PatternType.SYMMETRICAL_TRIANGLE:
        return 0
    return version.direction


@compiled
def overlap(start: int, end: int, other_start: int, other_end: int) -> float:
    """Intersection over union of two spans of bars; negative when they are apart."""
    shared = min(end, other_end) - max(start, other_start)
    return shared / (max(end, other_end) - min(start, other_start))

"""Plans: trigger, stop and target of a breakout (docs/detector.md section 6)."""

from __future__ import annotations

from typing import NamedTuple

from nightly.kernel.compiler import compiled
from nightly.parameters import Parameters

STOP_DISTANCE = Parameters().stop_distance_min


class Plan(NamedTuple):
    """Trigger, stop and target in log price."""

    trigger: float
    stop: float
    target: float


@compiled
def plan_levels(
    upper: float,
    lower: float,
    atr: float,
    height: float,
    direction: int,
    stop_distance: float = STOP_DISTANCE,
) -> Plan:
    """The plan for a breakout in a direction at a bar with these line values (all in log price).

    The stop is the opposite line, but at least `stop_distance` ATR from the broken line.
    """
    trigger = upper if direction > 0 else lower
    stop = lower if direction > 0 else upper
    if direction * (trigger - stop) < stop_distance * atr:
        stop = trigger - direction * stop_distance * atr
    return Plan(trigger, stop, trigger + direction * height)

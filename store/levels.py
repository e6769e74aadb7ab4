"""Levels: the prices of a trade plan, and how far they are from where its trade begins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Levels:
    """The levels of a plan, in dollars or quote currency."""

    start: float
    """What gains and losses count from: the entry of a running trade, else the trigger."""
    stop: float
    target: float
    entered: bool = False
    """Whether the start is an entry."""

    @classmethod
    def of(cls, plan: Mapping[str, Any], entry: float | None = None) -> Levels:
        """The levels of a TradePlan, of which a running trade has its own entry price."""
        start = plan["trigger_price"] if entry is None else entry
        return cls(start, plan["stop_price"], plan["target_price"], entry is not None)

    @property
    def start_name(self) -> str:
        """What the start is: `entry` or `trigger`."""
        return "entry" if self.entered else "trigger"

    @property
    def stop_pct(self) -> float:
        """The way from the start to the stop, percent."""
        return change_pct(self.stop, self.start)

    @property
    def target_pct(self) -> float:
        """The way from the start to the target, percent."""
        return change_pct(self.target, self.start)

    @property
    def reward_to_risk(self) -> float | None:
        """The way to the target over the way to the stop; None if there is no way to the stop."""
        risk = abs(self.start - self.stop)
        return abs(self.target - self.start) / risk if risk else None


def change_pct(price: float, start: float) -> float:
    """How far a price is from another one, percent."""
    return 100 * (price / start - 1)

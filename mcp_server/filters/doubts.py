"""Doubts: predicates whose number probably means something else than what it counts as."""

from __future__ import annotations

from typing import Final

from mcp_server.filters.filters import Predicate

FRACTION: Final = 1.0
"""A per cent below it may be meant as a fraction of one."""

DOLLARS: Final = {"market_cap": 1e6}
MIN_VOLUME: Final = 1e3

SIGNED: Final = frozenset(
    (
        *("min_avg_r", "min_expected_r", "pre_pattern_move", "ema_distance", "ema_cross", "gain"),
        *("sma_distance", "performance", "daily_change", "change_from_open", "gap"),
        *("typical_return",),
    )
)
"""Kinds whose numbers may be below zero."""


def in_percent(name: str, value: float) -> str:
    """What a fraction counts as where a per cent is taken."""
    return f"{name} is in percent: {value:g} means {value:g}%, not {100 * value:g}%."


def doubt(predicate: Predicate) -> str:
    """What a reader should know of a predicate's number; empty where nothing is odd."""
    kind, value = predicate.kind, predicate.value
    if kind.takes != "number" or isinstance(value, str | bool):
        return ""
    if value < 0 and kind.name not in SIGNED:
        keeps = "every setup with a value" if predicate.op in (">", ">=") else "none"
        return f"{kind.name} is never below 0, so {predicate} matches {keeps}."
    if 0 < abs(value) < FRACTION and kind.unit == "%":
        return in_percent(kind.name, value)
    if kind.unit == "0..100" and 0 < value < FRACTION:
        return f"{kind.name} goes from 0 to 100: {value:g} means {value:g}, not {100 * value:g}."
    if kind.unit == "0..100" and value > 100:
        return f"{kind.name} goes from 0 to 100."
    least = DOLLARS.get(kind.name, MIN_VOLUME if "volume" in kind.name else 0)
    if kind.unit in ("$", "shares") and 0 < value < least:
        return (
            f"{kind.name} counts single {'dollars' if kind.unit == '$' else 'shares'}: {value:g}."
        )
    return ""

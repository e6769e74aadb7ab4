"""The words of the screen's conditions: each kind of filter as a person would name it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from mcp_server.filters.kinds import KINDS, FilterKind, Period
from store.wire.words import plural

GROUPS: Mapping[str, Mapping[str, str]] = {
    "Setup": {
        "direction": "Direction",
        "phase": "Phase",
        "new": "New tonight",
        "sessions": "Sessions since the breakout",
        "dist_to_entry": "Distance to trigger or entry",
        "gain": "Open P/L",
        "quality": "Quality",
        "min_rr": "Reward to risk",
        "target_move": "Trigger to target",
        "pre_pattern_move": "Run-up before the pattern",
    },
    "Record": {
        "win_rate": "Win rate",
        "min_win_rate": "Win rate of this ticker",
        "min_avg_r": "Average R of this ticker",
        "min_expected_r": "Expectancy (R)",
        "typical_return": "Median winning trade",
    },
    "Price and size": {
        "price": "Price",
        "market_cap": "Market capitalization",
        "asset_type": "Asset type",
        "exchange": "Exchange",
        "industry": "Industry",
        "country": "Country",
    },
    "Volume": {
        "avg_volume": "Average volume, 20 days",
        "dollar_volume": "Dollar volume, 20 days",
        "dollar_volume_30d": "Dollar volume, 30 days",
        "current_dollar_volume": "Dollar volume, last day",
        "current_volume": "Volume, last day",
        "volume_ratio": "Volume over its average",
        "volume_percentile": "Volume rank, three months",
    },
    "Trend and momentum": {
        "rsi": "RSI",
        "ema_distance": "Distance from the EMA",
        "ema_cross": "EMA 8 above EMA 21",
        "sma_distance": "Distance from the SMA",
        "price_above_sma": "Price above the SMA",
        "sma_cross": "SMA 50 above SMA 200",
        "performance": "Performance",
        "daily_change": "Change in a day",
        "change_from_open": "Change from the open",
        "gap": "Opening gap",
        "distance_from_high": "Distance below the high",
        "distance_from_low": "Distance above the low",
    },
    "Range": {
        "adr": "Average daily range",
        "atr": "Average true range",
        "volatility": "Volatility",
    },
}
"""Every kind by its group, in the order of the menu."""

COMPARISONS: Mapping[str, str] = {
    "<": "below",
    "<=": "at most",
    ">": "above",
    ">=": "at least",
    "=": "exactly",
}

ANSWERS: Mapping[str, str] = {"true": "yes", "false": "no"}
"""The values of a boolean kind, as the filter language writes them."""

AVERAGES = ("ema_distance", "sma_distance", "price_above_sma")
SPANS = {"w": "week", "m": "month"}


@dataclass(frozen=True, slots=True)
class Field:
    """A kind of condition as the form shows it."""

    kind: FilterKind
    label: str
    unit: str
    hint: str
    """What the label does not say."""
    choices: Sequence[tuple[str, str]]
    """Value and words of each; empty for a number."""
    periods: Sequence[tuple[str, str]]


def _field(kind: FilterKind, label: str) -> Field:
    choices = tuple((choice, choice) for choice in kind.accepted)
    if kind.takes == "boolean":
        choices = tuple(ANSWERS.items())
    periods = tuple((str(period), _period(kind, period)) for period in kind.periods)
    meaning, _, _ = kind.meaning.partition(" For ")  # what else a program may ask for
    hint = "" if meaning == f"{label}." else meaning
    return Field(kind, label, _unit(kind), hint, choices, periods)


def _unit(kind: FilterKind) -> str:
    units = {"0..100": "of 100", "x": "times", "ratio": "to 1"}
    return units.get(kind.unit, kind.unit) if kind.takes == "number" else ""


def _period(kind: FilterKind, period: Period) -> str:
    if period == "ytd":
        return "this year"
    if isinstance(period, int):
        return f"{period} days" if kind.name in AVERAGES else f"{period} sessions"
    return plural(int(period[:-1]), SPANS[period[-1]])


FIELDS: Mapping[str, Field] = {
    name: _field(KINDS[name], label) for group in GROUPS.values() for name, label in group.items()
}
"""Every kind as the form shows it."""

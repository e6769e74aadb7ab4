"""Scan order: what the rows of a scan can be sorted by, over REST, MCP, pages and commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

RANK: Final = "rank"
NEARNESS: Final = "nearness"
"""The order in which pages begin."""


@dataclass(frozen=True, slots=True)
class Column:
    """A number of the rows, by which they are sorted; rows without one come last."""

    label: str
    name: str
    """Name of the column in the night's evidence."""
    upward: str = "lowest first"
    downward: str = "highest first"
    first: str = "-"
    """What a click on its heading does first: `-` for downward."""


COLUMNS: Mapping[str, Column] = {
    "symbol": Column("Symbol", "symbol", "A to Z", "Z to A", ""),
    "distance": Column("Distance", "distance", "nearest first", "farthest first", ""),
    "reward_to_risk": Column("Reward to risk", "reward_to_risk"),
    "gain": Column("Open P/L", "gain"),
    "typical_gain": Column("Median winning trade", "typical_return"),
    "expected_r": Column("Expectancy (R)", "min_expected_r"),
    "win_rate": Column("Win rate", "win_rate"),
    "sample": Column("Trades", "sample", "smallest first", "largest first"),
    "price": Column("Price", "close"),
    "daily_change": Column("Day's change", "daily_change"),
    "market_cap": Column("Market cap", "market_cap", "smallest first", "largest first"),
    "quality": Column("Quality", "quality"),
    "pattern": Column("Pattern", "pattern", "A to Z", "Z to A", ""),
    "sessions": Column(
        "Sessions since the breakout", "sessions", "newest first", "oldest first", ""
    ),
    "trigger": Column("Trigger or entry", "start"),
    "stop": Column("Distance to stop", "stop_way", "shortest first", "longest first", ""),
    "target": Column("Distance to target", "target_way", "shortest first", "longest first"),
    NEARNESS: Column(
        "Within 2% of the trigger or just triggered, then quality; for the nearest take distance",
        NEARNESS,
        "best first",
        "worst first",
        "",
    ),
}
"""By the value of `sort`; `-` in front of it sorts downward."""

PRICES: Final = ("close", "start")
"""Columns of prices, each in the currency of its setup."""

SORTS: Mapping[str, str] = {
    RANK: "Rank, largest median winning trade first",
    **{
        f"{sign}{name}": f"{column.label}, {words}"
        for name, column in COLUMNS.items()
        for sign, words in (("", column.upward), ("-", column.downward))
    },
}
"""Every order in words."""

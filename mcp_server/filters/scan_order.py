"""Scan order: what the rows of a scan can be sorted by, over REST, MCP, pages and commands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

RANK: Final = "rank"
NEARNESS: Final = "nearness"
"""The order in which pages begin."""


@dataclass(frozen=True, slots=True)
class SortColumn:
    """A number of the rows, by which they are sorted; rows without one come last."""

    label: str
    name: str
    """Name of the column in the night's evidence."""
    upward: str = "lowest first"
    downward: str = "highest first"
    first: str = "-"
    """What a click on its heading does first: `-` for downward."""


COLUMNS: Mapping[str, SortColumn] = {
    "symbol": SortColumn("Symbol", "symbol", "A to Z", "Z to A", ""),
    "distance": SortColumn("Distance", "distance", "nearest first", "farthest first", ""),
    "reward_to_risk": SortColumn("Reward to risk", "reward_to_risk"),
    "gain": SortColumn("Open P/L", "gain"),
    "gain_r": SortColumn("Open P/L in R", "gain_r"),
    "typical_gain": SortColumn("Median winning trade", "typical_return"),
    "expected_r": SortColumn("Expectancy (R)", "min_expected_r"),
    "win_rate": SortColumn("Win rate", "win_rate"),
    "ticker_win_rate": SortColumn("Win rate of this ticker", "min_win_rate"),
    "ticker_avg_r": SortColumn("Average R of this ticker", "min_avg_r"),
    "sample": SortColumn("Trades", "sample", "smallest first", "largest first"),
    "price": SortColumn("Price", "close"),
    "daily_change": SortColumn("Day's change", "daily_change"),
    "market_cap": SortColumn("Market cap", "market_cap", "smallest first", "largest first"),
    "quality": SortColumn("Quality", "quality"),
    "pattern": SortColumn("Pattern", "pattern", "A to Z", "Z to A", ""),
    "sessions": SortColumn(
        "Sessions since the breakout", "sessions", "newest first", "oldest first", ""
    ),
    "trigger": SortColumn("Trigger or entry", "start"),
    "stop": SortColumn("Distance to stop", "stop_way", "shortest first", "longest first", ""),
    "target": SortColumn("Distance to target", "target_way", "shortest first", "longest first"),
    NEARNESS: SortColumn(
        "Within 2% of the trigger, other forming setups, newest open trades; each by quality",
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

"""Presets: screens that everybody finds on the screen page, each with what it is for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from screener.web.market.scan_query import read_query


@dataclass(frozen=True, slots=True)
class Preset:
    """A screen under a name."""

    name: str
    sentence: str
    """What it shows, in one sentence."""
    address: str
    """The address of the screen that says the same, as `Query.address` spells it."""


def _preset(
    name: str,
    sentence: str,
    filters: Sequence[dict[str, object]] = (),
    **parameters: str,
) -> Preset:
    items = list(parameters.items())
    if filters:
        items.append(("filters", orjson.dumps(filters).decode()))
    return Preset(name, sentence, read_query(items)[0].address())


PRESETS: Final = (
    _preset(
        "New tonight",
        "Forming or triggered, and not listed the night before.",
        [{"kind": "new", "value": True}],
        status="all",
    ),
    _preset(
        "Fresh breakouts",
        "Triggered in the last five sessions, the newest first.",
        [{"kind": "sessions", "op": "<", "value": 5}],
        status="in_progress",
        sort="sessions",
    ),
    _preset(
        "Close to trigger",
        "Forming, and within 2% of the trigger.",
        status="forming",
        max_distance_pct="2",
        sort="distance",
    ),
    _preset(
        "Bullish, own record",
        "The symbol has five past trades of the pattern or more.",
        [{"kind": "min_win_rate", "op": ">=", "value": 0}],
        direction="bullish",
        status="all",
        sort="-expected_r",
    ),
    _preset(
        "High reward",
        "Forming, with a reward-to-risk ratio of 3 or more.",
        [{"kind": "min_rr", "op": ">=", "value": 3}],
        status="forming",
        sort="-reward_to_risk",
    ),
    _preset(
        "In profit",
        "Open trades in profit, the largest open P/L first.",
        [{"kind": "gain", "op": ">", "value": 0}],
        status="in_progress",
        sort="-gain",
    ),
    _preset(
        "In an uptrend",
        "Bullish, with price and 50-day above the 200-day average.",
        [
            {"kind": "price_above_sma", "value": True, "period": 200},
            {"kind": "sma_cross", "value": True},
        ],
        direction="bullish",
        status="all",
    ),
    _preset(
        "Large caps",
        "Market cap of $10 billion or more, the largest first.",
        [{"kind": "market_cap", "op": ">=", "value": 10_000_000_000}],
        status="all",
        sort="-market_cap",
    ),
    _preset(
        "Crypto",
        "Coins, forming and triggered.",
        [{"kind": "asset_type", "value": "crypto"}],
        status="all",
    ),
)
"""Every preset, in the order of the page."""

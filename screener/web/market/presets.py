"""Presets: screens that everybody finds on the screen page, each with what it is for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from screener.web.market.scan_query import read_address


@dataclass(frozen=True, slots=True)
class Preset:
    """A screen under a name."""

    name: str
    sentence: str
    """What it shows, in one sentence."""
    address: str
    """The address of the screen that says the same, as `Query.address` spells it."""


def _preset(name: str, sentence: str, query: str) -> Preset:
    return Preset(name, sentence, read_address(f"?{query}").address())


PRESETS: Final = (
    _preset(
        "New tonight",
        "Forming or triggered, and not listed the night before.",
        'status=all&filters=[{"kind":"new","value":true}]',
    ),
    _preset(
        "Fresh breakouts",
        "Triggered in the last five sessions, the newest first.",
        'status=in_progress&sort=sessions&filters=[{"kind":"sessions","op":"<","value":5}]',
    ),
    _preset(
        "Close to trigger",
        "Forming, and within 2% of the trigger.",
        "status=forming&max_distance_pct=2&sort=distance",
    ),
    _preset(
        "Bullish, own record",
        "Five past trades of the symbol or more, the best expectancy first.",
        "direction=bullish&status=all&sort=-expected_r"
        '&filters=[{"kind":"min_win_rate","op":">=","value":0}]',
    ),
    _preset(
        "High reward",
        "Forming, with a reward-to-risk ratio of 3 or more.",
        'status=forming&sort=-reward_to_risk&filters=[{"kind":"min_rr","op":">=","value":3}]',
    ),
    _preset(
        "In profit",
        "Open trades in profit, the largest open P/L first.",
        'status=in_progress&sort=-gain&filters=[{"kind":"gain","op":">","value":0}]',
    ),
    _preset(
        "In an uptrend",
        "Bullish, with price and 50-day above the 200-day average.",
        'direction=bullish&status=all&filters=[{"kind":"price_above_sma","value":true,"period":200},'
        '{"kind":"sma_cross","value":true}]',
    ),
    _preset(
        "Large caps",
        "Market cap of $10 billion or more, the largest first.",
        'status=all&sort=-market_cap&filters=[{"kind":"market_cap","op":">=","value":10000000000}]',
    ),
    _preset(
        "Crypto",
        "Coins, forming and triggered.",
        'status=all&filters=[{"kind":"asset_type","value":"crypto"}]',
    ),
)
"""Every preset, in the order of the page; what each asks for is written as in an address."""

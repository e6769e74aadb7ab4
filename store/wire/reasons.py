"""Reasons: why a night leaves symbols out, and what it finds in bars, in words for people."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

LEFT_OUT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "bad_symbol": "the name cannot be a symbol",
        "duplicate_symbol": "a second name for one symbol",
        "no_bars": "there are no bars for it",
        "unreadable_file": "its file cannot be read",
        "other_interval": "its bars are not daily",
        "foreign_listing": "a listing abroad, with other trading days",
        "other_currency": "its prices are not in dollars",
        "bad_bars": "too many of its bars contradict themselves",
        "price_jumps": "its price jumps too often or too far",
        "unconfirmed_close": "its last close is far from the one before; the next bar will tell",
        "flat_bars": "too many bars have no range or no volume",
        "too_few_bars": "it has too few bars so far",
        "stepped_price": "its price moves in steps too coarse for lines",
        "low_volatility": "its price hardly moves",
        "behind": "its last bar is missing",
        "stale": "its bars stopped long before this session",
    }
)
"""Why a symbol is left out, by code."""

FOUND: Final[Mapping[str, str]] = MappingProxyType(
    {
        "undated_row": "rows without a readable date",
        "repeated_date": "a second row for one day",
        "second_file": "a second file with the same name",
        "bad_bar": "a missing or impossible price",
        "bad_volume": "a missing or negative volume",
        "range_widened": "open or close outside the day's range",
        "price_outside_range": "open or close far outside the day's range",
        "future_date": "a day in the future",
        "weekend": "a weekend bar of a stock or fund",
        "holiday": "a bar on an exchange holiday",
        "split_applied": "a split from the reference, applied",
        "misprint": "an open far from everything around it",
        "price_spike": "a close that leaps and comes back",
        "idle": "a stretch with hardly any trades",
        "halted": "a day without volume and range",
        "no_volume": "a day with a range but without volume",
        "ticker_reuse": "a gap so long that the ticker may have another owner",
        "unadjusted_split": "a split that the prices are not adjusted for",
        "gap": "days missing between bars",
        "flat_bar": "a bar with volume but without range",
        "price_jump": "a close many times the one before, or a small part of it",
    }
)
"""What is found in bars, by rule."""


def words_of(code: str, words: Mapping[str, str]) -> str:
    """The words for a code; that of another version of the program stands for itself."""
    return words.get(code, code.replace("_", " "))

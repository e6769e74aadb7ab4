"""Labels: the values of the scan's choice columns, and the words for codes that a night stores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from store.wire.records import ChangeHeading, ChangeKind, ChangeReason

ASSET_TYPES = ("crypto", "etf", "stock")
COUNTRIES = ("US", "GLOBAL")
EXCHANGES = ("XNYS", "XNAS", "ARCX", "BATS", "XASE")
EXCHANGES_ABROAD = (
    *("XNSE", "XBOM", "XLON", "XETR", "XFRA", "XPAR", "XAMS", "XBRU", "XLIS"),
    *("XMIL", "XMAD", "XDUB", "XWBO", "XHEL", "XSWX", "XSTO", "XCSE", "XOSL"),
    *("XICE", "XWAR", "XPRA", "XBUD", "XIST", "XTSE", "XTSX", "XTKS", "XHKG"),
    *("XSHG", "XSHE", "XTAI", "XKRX", "XKOS", "XSES", "XASX", "XNZE", "XKLS"),
    *("XBKK", "XIDX", "XPHS", "XKAR", "XJSE", "BVMF", "XMEX", "XBUE", "XSGO"),
)
"""Labels of the same column, which documents do not list."""
INDUSTRIES = (
    "Semiconductors",
    "Software",
    "Hardware & Electronics",
    "Internet & Media",
    "Telecom",
    "Biotech & Pharma",
    "Healthcare Equipment & Services",
    "Banks",
    "Insurance",
    "Capital Markets & Asset Management",
    "Fintech & Payments",
    "Real Estate",
    "Oil & Gas",
    "Utilities & Renewables",
    "Metals & Mining",
    "Chemicals & Materials",
    "Industrials & Construction",
    "Aerospace & Defense",
    "Transport & Logistics",
    "Retail & E-Commerce",
    "Consumer Goods & Services",
    "Food & Beverage",
    "Restaurants",
    "Travel & Leisure",
    "Autos & Mobility",
    "Crypto",
    "Broad Market & Index",
    "Bonds & Fixed Income",
    "Commodities",
)

CHANGE_KINDS: Final[Mapping[ChangeKind, str]] = {
    "new": "New",
    "triggered": "Triggered",
    "stopped": "Stopped",
    "reached": "Reached the target",
    "expired": "No longer listed",
}
"""The kinds of changes in the order in which they are shown, each with its heading."""

CHANGE_HEADINGS: Final[Mapping[ChangeHeading, str]] = {
    "new": "New tonight",
    "near": "Near the trigger",
    "triggered": "Triggered today",
    "ended": "Ended today",
    "gone": "Gone",
}
"""The headings of an evening in their order."""

CHANGE_REASONS: Final[Mapping[ChangeReason, str]] = {
    "found": "found in this night's bars",
    "breakout": "a close beyond the trigger opened the trade",
    "stop": "the trade reached its stop",
    "target": "the trade reached its target",
    "delisted": "the listing ended",
    "too_old": "the trade is still open, but too old to be listed",
    "missed": "it broke out too far or before its trigger was announced: there was no trade",
    "invalidated": "a close beyond the other line",
    "superseded": "another setup took its place",
    "apex": "it came too close to where its lines meet",
    "stale": "no touch of a line for too long",
    "too_long": "it has become too long",
    "data_gap": "bars are missing before the last one",
    "faded": "its lines no longer fit the bars well",
    "left_out": "its symbol is left out of this night",
    "revised": "this night's bars show it differently",
}
"""Why a setup changed, in words."""

LEFT_OUT: Final[Mapping[str, str]] = {
    "bad_symbol": "the name cannot be a symbol",
    "duplicate_symbol": "a second name for one symbol",
    "no_bars": "there are no bars for it",
    "unreadable_file": "its file cannot be read",
    "differing_rows": "rows of one day differ, so the right one is unknown",
    "parted_files": "its files do not go on from one another",
    "undated_rows": "one of its newest rows has no readable date",
    "other_interval": "its bars are not daily",
    "foreign_listing": "a listing abroad, with other trading days",
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
"""Why a symbol is left out, by code."""

FOUND: Final[Mapping[str, str]] = {
    "undated_row": "rows without a readable date",
    "repeated_date": "a second row for one day",
    "differing_date": "rows of one day that differ",
    "filled_day": "a day on which nothing was traded, filled in by the source",
    "repeated_bar": "the last bar repeated on days after it",
    "unit_changed": "prices in another unit, such as pounds for pence",
    "extra_session": "a bar on a day on which the exchange does not usually open",
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
"""What is found in bars, by rule."""


DRAWING_RULES: Final[Mapping[str, str]] = {
    "convergence": "width today, in ATR",
    "length": "length, in bars",
    "progress": "progress",
    "offset": "share of its length before the second line starts",
    "recency": "share of its length since the last touch of the staler line",
    "height": "height, in ATR",
    "slopes": "smaller inward move of the two lines, in widths",
    "pole_height": "height of the pole, in ATR",
    "pole_bars": "bars from base to tip of the pole",
    "pole_speed": "height of the pole per bar, in ATR",
    "pole_step": "largest bar over the pole's height; largest close-to-close move over its net "
    "move",
    "pole_gap": "largest gap of the pole, as a share of it",
    "pole_straightness": "net move of the closes of the pole, as a share of all their moves",
    "pole_width": "width at the start, as a share of the pole",
    "drift": "move of the middle between the lines, in widths",
    "pole_retrace": "share of the pole that is given back",
    "early_close": "ATR by which a close is beyond the later line, extended backwards",
    "touches": "touches",
    "crossings": "changes of side in the sequence of touches",
    "touch_gap": "share of its length without any touch",
    "largest_bar": "range of the largest bar, in widths",
    "largest_gap": "largest gap from a close to the next open, in widths",
    "directness": "directness",
    "thin": "share of bars without a range",
    "nearness": "distance of the last close from a line that triggers, in ATR",
    "score": "score, in percent",
}
"""What the rules of docs/detector.md measure in a drawing, in its words."""


def words_of(code: str, words: Mapping[Any, str]) -> str:
    """The words for a code; that of another version of the program stands for itself."""
    return words.get(code, code.replace("_", " "))

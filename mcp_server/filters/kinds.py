"""The kinds of scan filters: what each takes, in which unit, and what it means.

The table is the vocabulary of the filter language: documents are rendered from it, and predicates
are parsed with it. A kind's evidence column is its name, followed by the period if it takes one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from store.wire.labels import ASSET_TYPES, COUNTRIES, EXCHANGES, EXCHANGES_ABROAD, INDUSTRIES
from store.wire.words import QUALITY

Period = int | str

MOVING = (20, 50, 200)
EXTREME: tuple[Period, ...] = (20, 50, 252, "1w", "2w", "3w", *(f"{n}m" for n in range(1, 13)))


@dataclass(frozen=True, slots=True, eq=False)  # each is there once, so its hash is cheap
class FilterKind:
    """A row of the filter table."""

    name: str
    takes: Literal["number", "choice", "boolean"]
    unit: str
    meaning: str
    periods: tuple[Period, ...] = ()
    choices: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()
    """Choices beside these, which no document lists."""
    apart: bool = False
    """Whether answers repeat its meaning: it counts something else than its name suggests."""

    @property
    def accepted(self) -> tuple[str, ...]:
        """All its choices."""
        return self.choices + self.unlisted

    @property
    def spans(self) -> str:
        """Its unit and the periods it takes, in words."""
        periods = f"period {', '.join(map(str, self.periods))}" if self.periods else ""
        return "; ".join(filter(None, (self.unit or self.takes, periods)))

    def column(self, period: Period | None) -> str:
        """The evidence column of this kind, for a period if it takes one."""
        return self.name if period is None else f"{self.name}_{period}"


def _number(
    name: str, unit: str, meaning: str, periods: tuple[Period, ...] = (), *, apart: bool = False
) -> FilterKind:
    return FilterKind(name, "number", unit, meaning, periods, apart=apart)


def _choice(
    name: str,
    choices: tuple[str, ...],
    meaning: str = "",
    unlisted: tuple[str, ...] = (),
    *,
    apart: bool = False,
) -> FilterKind:
    return FilterKind(name, "choice", "", meaning, choices=choices, unlisted=unlisted, apart=apart)


def _boolean(name: str, meaning: str, periods: tuple[Period, ...] = ()) -> FilterKind:
    return FilterKind(name, "boolean", "boolean", meaning, periods)


_ROWS = (
    _choice("direction", ("bearish", "bullish"), "Traded direction (also a plain parameter)."),
    _choice(
        "phase",
        ("armed", "confirmed", "forming"),
        "armed (trigger within 1% or one average true range of the last close), forming (farther), "
        "confirmed (trigger fired).",
    ),
    _number(
        "dist_to_entry",
        "%",
        "Absolute distance from the last price to the trigger, also in open trades (gain counts "
        "from the entry).",
    ),
    _number(
        "min_win_rate",
        "%",
        "Win rate of this pattern on this ticker only, with at least 5 resolved trades in the "
        "setup's direction; with fewer a setup never matches. For win_rate_pct of rows, use "
        "win_rate.",
        apart=True,
    ),
    _number(
        "min_avg_r",
        "R",
        "Average R per past trade on this ticker only, with at least 5 resolved trades in the "
        "setup's direction; with fewer a setup never matches. For expected_r of rows, use "
        "min_expected_r.",
        apart=True,
    ),
    _number("min_expected_r", "R", "expected_r of rows (expectancy, market drift included)."),
    _number(
        "typical_return",
        "%",
        "expected_gain_pct of rows: the ticker's median winning trade, blended with its family's "
        "in proportion to how much the ticker moves (its ATR). Not an expectation: it leaves "
        "losses out, and may exceed the target.",
    ),
    _number(
        "min_rr",
        "ratio",
        "reward_to_risk of rows: distance to target divided by distance to stop, from the trigger "
        "or, in an open trade, from its entry.",
    ),
    _number(
        "target_move",
        "%",
        "Trigger to target, also in an open trade, although its row is measured from the entry.",
        apart=True,
    ),
    _number("pre_pattern_move", "%", "Run-up before the pattern."),
    _number("price", "$", "Last price."),
    _number(
        "market_cap",
        "$",
        "Market capitalization in the operator's reference table, not of the session.",
        apart=True,
    ),
    _number("avg_volume", "shares", "20-day average daily volume."),
    _number("dollar_volume", "$", "20-day average dollar volume."),
    _number("dollar_volume_30d", "$", "Price times 30-day average volume."),
    _number("current_dollar_volume", "$", "Price times the last day's volume."),
    _number("current_volume", "shares", "The last day's volume."),
    _number("volume_ratio", "x", "Last full day's volume over its 20-day average."),
    _number("volume_percentile", "0..100", "Full-day volume rank among the 62 daily bars before."),
    _number("rsi", "0..100", "14-day RSI."),
    _number("adr", "%", "14-day average daily range, percent of price."),
    _number("atr", "%", "14-day average true range, percent of price."),
    _number("volatility", "%", "20-day realized volatility, annualized."),
    _number("ema_distance", "%", "Percent above (+) or below (-) the EMA.", (8, 21, 60)),
    _number("ema_cross", "%", "Percent that EMA8 is above EMA21."),
    _number("sma_distance", "%", "Percent above (+) or below (-) the SMA.", MOVING),
    _boolean("price_above_sma", "Price above the SMA.", MOVING),
    _boolean("sma_cross", "50-day average above the 200-day average."),
    _number(
        "performance",
        "%",
        "Price change over so many daily bars (of crypto, days) or since the year began.",
        (5, 21, 63, 126, 252, "ytd"),
    ),
    _number("daily_change", "%", "One-day change."),
    _number("change_from_open", "%", "Open to last."),
    _number("gap", "%", "Opening gap."),
    _number("distance_from_high", "%", "Percent below the period's high.", EXTREME),
    _number("distance_from_low", "%", "Percent above the period's low.", EXTREME),
    _choice("asset_type", ASSET_TYPES),
    _choice(
        "exchange",
        EXCHANGES,
        "Or the MIC of an exchange abroad, such as XNSE.",
        unlisted=EXCHANGES_ABROAD,
    ),
    _choice(
        "industry",
        INDUSTRIES,
        "A class of the operator's reference table: similar companies may be in another.",
        apart=True,
    ),
    _choice("country", COUNTRIES, "GLOBAL is any other country, and crypto."),
    _number("win_rate", "%", "win_rate_pct of rows: of the ticker or, usually, its family."),
    _number("gain", "%", "Open P/L of an open trade; forming setups have none."),
    _number("quality", "%", f"quality_pct of rows. {QUALITY}"),
    _number(
        "sessions",
        "sessions",
        "Trading days since the breakout, 0 on its day; forming setups have none.",
    ),
    _boolean("new", "In this night and not in the night before."),
)

KINDS: Mapping[str, FilterKind] = MappingProxyType({row.name: row for row in _ROWS})

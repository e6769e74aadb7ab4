"""Views: rows of the log as clients know them: names, ids, dates and rounded numbers."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Self, TypeAlias, cast

from screener.nightly.bars import Bars, to_date
from screener.nightly.detector.detector import line_values
from screener.nightly.detector.events import Outcome, PatternType, Rows, Scale
from store.wire.families import Direction, Family, family_of
from store.wire.records import ExitReason, PastLine, PastLines, PricePoint
from store.wire.records import Outcome as OutcomeName
from store.wire.records import PatternType as PatternTypeName

LogRow: TypeAlias = Any
"""A version or a trade, as a record of the log or as a dictionary, which is quicker to read."""

FAMILIES: Final = tuple(Family)
PRICE_DIGITS: Final = 7

OUTCOMES: Final[Mapping[int, OutcomeName]] = {
    Outcome.WIN: "win",
    Outcome.LOSS: "loss",
    Outcome.OPEN: "open",
    Outcome.DELISTED: "loss",  # the target was not reached, whatever the last close was
}
EXIT_REASONS: Final[Mapping[int, ExitReason | None]] = {
    Outcome.WIN: "target",
    Outcome.LOSS: "stop",
    Outcome.OPEN: None,
    Outcome.DELISTED: "delisted",
}


def price(value: float) -> float:
    """A price rounded to seven significant digits, so that 0.00001 keeps as many as 600."""
    return float(f"{value:.{PRICE_DIGITS}g}")


def percent(value: float) -> float:
    """A percentage rounded to two decimals, never minus zero."""
    return round(float(value), 2) + 0.0


def multiple(value: float) -> float:
    """An R multiple or a ratio rounded to three decimals, never minus zero."""
    return round(float(value), 3) + 0.0


@cache
def type_name(kind: int) -> PatternTypeName:
    """The name of a pattern type; a squeeze has one name for both directions."""
    pattern = PatternType(kind)
    if pattern in (PatternType.BULLISH_SQUEEZE, PatternType.BEARISH_SQUEEZE):
        return "squeeze_consolidation"
    return cast("PatternTypeName", pattern.name.lower())


def direction_name(sign: int) -> Direction:
    """`bullish` for +1, `bearish` for -1."""
    return "bullish" if sign > 0 else "bearish"


@cache
def family_index(kind: int) -> int:
    """The position of a pattern type's family among the five families."""
    direction: Direction = "bearish" if kind == PatternType.BEARISH_SQUEEZE else "bullish"
    return FAMILIES.index(family_of(type_name(kind), direction))


def family_of_type(kind: int) -> Family:
    """The family of a pattern type."""
    return FAMILIES[family_index(kind)]


def lineage_id(
    symbol: str, scale: Scale, start: dt.date, first_served: dt.date, twin: int = 0
) -> str:
    """The id of a lineage, from its first version: it never changes unless the bars do.

    `twin` counts the older lineages of the same scale that begin and are first served on the same
    days, for example a wedge and a triangle that start at the same low.
    """
    return _digest(twin, symbol, scale.name, start.isoformat(), first_served.isoformat())


def setup_id(lineage: str, attempt: int, session: dt.date, twin: int = 0) -> str:
    """The id of a setup in one session. A running trade and a later attempt differ by attempt.

    `twin` counts the older setups of the same lineage and attempt that are served in that session.
    There may be some, because a candidate joins a lineage by the lineage's span, which may be
    longer than the span of the setup in it.
    """
    return _digest(twin, lineage, str(attempt), session.isoformat())


def _digest(twin: int, *facts: str) -> str:
    if twin:
        facts += (str(twin),)
    digest = hashlib.blake2b("\x1f".join(facts).encode(), digest_size=10).digest()
    return base64.b32encode(digest).decode("ascii").lower()


def pattern_start(version: LogRow) -> int:
    """The bar on which the first of the two lines of a version starts."""
    return min(int(version["upper_start"]), int(version["lower_start"]))


def line_point(bars: Bars, version: Rows, side: int, bar: int) -> PricePoint:
    """Where the upper (0) or the lower (1) line of a version is at a bar."""
    level = math.exp(line_values(version, bar)[side])
    return PricePoint(date=to_date(bars.date[bar]), price=price(level))


def line_ends(bars: Bars, version: Rows, side: int, last: int) -> dict[str, PricePoint]:
    """The start of such a line, and its end at a bar."""
    places = {"start": int(version[("upper_start", "lower_start")[side]]), "end": last}
    return {name: line_point(bars, version, side, bar) for name, bar in places.items()}


def past_lines(bars: Bars, version: Rows, last: int) -> PastLines:
    """Both lines of a version, each from its start to a bar."""
    upper, lower = (PastLine(**line_ends(bars, version, side, last)) for side in (0, 1))
    return PastLines(upper=upper, lower=lower)


def quality_pct(version: Rows) -> float:
    """The quality that is served of a version, percent; a running trade keeps it."""
    return round(float(version["quality"]), 1)


@dataclass(frozen=True, slots=True)
class TradeView:
    """A trade up to its exit or, while it is open, up to the last close."""

    direction: Direction
    outcome: OutcomeName
    exit_reason: ExitReason | None
    entry_date: dt.date
    entry_price: float
    stop_price: float
    target_price: float
    exit_date: dt.date | None
    exit_price: float | None
    move_pct: float
    """From the entry, in the trade's favour, percent."""
    r_multiple: float

    @classmethod
    def of(cls, trade: LogRow, entered: dt.date, left: dt.date, close: float) -> Self:
        """The view of a trade with the dates of its entry and its exit. While it is open, `left`
        does not matter, and it stands at `close`.
        """
        entry, stop, sign = trade["entry_price"], trade["stop_price"], int(trade["direction"])
        outcome = int(trade["outcome"])
        over = outcome != Outcome.OPEN
        last = trade["exit_price"] if over else close
        return cls(
            direction=direction_name(sign),
            outcome=OUTCOMES[outcome],
            exit_reason=EXIT_REASONS[outcome],
            entry_date=entered,
            entry_price=price(entry),
            stop_price=price(stop),
            target_price=price(trade["target_price"]),
            exit_date=left if over else None,
            exit_price=price(last) if over else None,
            move_pct=percent(100 * sign * (last / entry - 1)),
            r_multiple=multiple(sign * (last - entry) / abs(entry - stop)),
        )

    @classmethod
    def over(cls, bars: Bars, trade: LogRow) -> Self:
        """The view of a trade in the log of some bars."""
        entered, left = (to_date(bars.date[trade[name]]) for name in ("entry", "exit"))
        return cls.of(trade, entered, left, float(bars.close[-1]))

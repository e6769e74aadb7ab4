"""View: what a chart shows, as plain values that can be sent to another process, and its look."""

from __future__ import annotations

import datetime as dt
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from store.wire.currency import DOLLARS
from store.wire.view import PlanView, RecordView

Theme: TypeAlias = Literal["light", "dark"]
Width: TypeAlias = Literal[320, 720, 1200]

THEMES: Final[tuple[Theme, ...]] = ("light", "dark")
WIDTHS: Final[tuple[Width, ...]] = (320, 720, 1200)

HEIGHTS: Final[dict[Width, int]] = {320: 180, 720: 900, 1200: 675}
"""The height that goes with each width, pixels."""


@dataclass(frozen=True, slots=True)
class ChartStyle:
    """The theme and the width in pixels: 320 is a thumbnail, 720 for phones, 1200 the usual."""

    theme: Theme = "light"
    width: Width = 1200

    @property
    def height(self) -> int:
        """The height of the picture, pixels."""
        return HEIGHTS[self.width]


LOOKS: Final[Mapping[tuple[str, str], ChartStyle]] = {
    (theme, str(width)): ChartStyle(theme, width) for theme in THEMES for width in WIDTHS
}
"""Every look by its theme and width, as people write them."""

USUAL: Final = ChartStyle()
"""The look of the API's charts."""


Point: TypeAlias = tuple[dt.date, float]
"""A price on a session."""


@dataclass(frozen=True, slots=True)
class TrendLine:
    """A trend line by its dated endpoints: straight over the sessions on a log price axis."""

    start: Point
    end: Point
    touches: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True)
class PastRecord:
    """How past trades ended, by whose name, and from when to when they were measured."""

    name: str
    start: dt.date
    end: dt.date
    figures: RecordView


@dataclass(frozen=True, slots=True)
class TradeMark:
    """A past trade, marked at its entry and its exit."""

    direction: Literal["bullish", "bearish"]
    entry: Point
    exit: Point | None
    won: bool


@dataclass(frozen=True, slots=True)
class ChartView:
    """Bars, at least one and oldest first, with a setup, a past trade, or neither; all prices
    positive, in one currency.

    `other` is the second plan of a forming setup that may break out either way.
    `lines` are the upper and the lower one, or none. Without a stop and a target no level but the
    last close is drawn. A trade has `entry`, its breakout session and the price it was entered
    at, and if it is past, `exit`. A `note` is said in place of direction and status. `marks` are
    past trades. `attempts` is how many its formation had, `quality` that of the
    drawing in per cent, if they are known.
    `next_session` is the one that a forming setup's levels are for. `pole` runs from the base to
    the tip of a pennant's pole. A volume is not negative, NaN where it is not known.
    """

    symbol: str
    pattern: str
    direction: Literal["bullish", "bearish"]
    status: Literal["forming", "in_progress"]
    as_of: dt.date
    dates: Sequence[dt.date]
    open: Sequence[float]
    high: Sequence[float]
    low: Sequence[float]
    close: Sequence[float]
    lines: tuple[TrendLine, ...] = ()
    trigger: float | None = None
    stop: float | None = None
    target: float | None = None
    other: PlanView | None = None
    entry: Point | None = None
    exit: Point | None = None
    marks: Sequence[TradeMark] = ()
    note: str = ""
    next_session: dt.date | None = None
    volume: Sequence[float] | None = None
    pole: tuple[Point, Point] | None = None
    name: str = ""
    attempt: int = 1
    attempts: int | None = None
    quality: float | None = None
    record: PastRecord | None = None
    disclaimer: str = ""
    source: str = ""
    currency: str = DOLLARS

    def index(self, point: Point) -> int | None:
        """The bar of a point on a session; None where the bars begin later or end before."""
        at = round(session_index(self.dates, point[0]))
        return at if 0 <= at < len(self.dates) else None

    @property
    def plans(self) -> list[PlanView]:
        """Its plans: none without levels, two if it may break out either way."""
        return [plan for plan in (self.plan, self.other) if plan]

    @property
    def plan(self) -> PlanView | None:
        """The levels, with the entry of a trade; None without."""
        entry = None if self.entry is None else self.entry[1]
        trigger = entry if self.trigger is None else self.trigger
        if trigger is None or self.stop is None or self.target is None:
            return None
        return PlanView(self.direction, trigger, self.stop, self.target, entry)


def session_index(dates: Sequence[dt.date], date: dt.date) -> float:
    """The index of a date among sessions; for a date without a bar, estimated by calendar days."""
    at = bisect_left(dates, date)
    if at < len(dates) and dates[at] == date:
        return float(at)
    if 0 < at < len(dates):
        return at - 1 + (date - dates[at - 1]).days / (dates[at] - dates[at - 1]).days
    nearest = 0 if at == 0 else len(dates) - 1
    days = (dates[-1] - dates[0]).days
    pace = (len(dates) - 1) / days if days else 5 / 7
    return nearest + (date - dates[nearest]).days * pace

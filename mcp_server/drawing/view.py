"""View: what a chart shows, as plain values that can be sent to another process."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from mcp_server.drawing.axes import session_index
from store.wire.view import PlanView

Point: TypeAlias = tuple[dt.date, float]
"""A price (dollars, or the quote currency) on a session."""


@dataclass(frozen=True, slots=True)
class TrendLine:
    """A trend line by its dated endpoints: straight over the sessions on a log price axis."""

    start: Point
    end: Point
    touches: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """How the trades of a family ended, all in percent; random entries are its placebo."""

    name: str
    start: dt.date
    end: dt.date
    sample: int
    win_rate: float
    average_loss: float | None
    random_entries: float | None


@dataclass(frozen=True, slots=True)
class TradeMark:
    """A past trade, marked at its entry and its exit."""

    direction: Literal["bullish", "bearish"]
    entry: Point
    exit: Point | None
    won: bool


@dataclass(frozen=True, slots=True)
class ChartView:
    """Bars, oldest first, with a setup, a past trade, or neither; all prices positive, in dollars
    or quote currency.

    `upper` and `lower` are both None where no lines are drawn. Without a stop and a target no level
    but the last close is. A trade has `entry`, its breakout session and the price it was entered
    at, and if it is past, `exit`. A `note` is said in place of direction and status. `marks` are
    past trades. `attempts` is how many its formation had, if that is known.
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
    upper: TrendLine | None = None
    lower: TrendLine | None = None
    trigger: float | None = None
    stop: float | None = None
    target: float | None = None
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
    record: Record | None = None
    disclaimer: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        """Refuse bars that cannot be drawn.

        Raises:
            ValueError: there is no bar, or the columns differ in length.
        """
        columns = [self.dates, self.open, self.high, self.low, self.close]
        columns += [] if self.volume is None else [self.volume]
        if len({len(column) for column in columns}) != 1 or not len(self.dates):
            raise ValueError("A chart needs at least one bar, and columns of one length.")

    def index(self, point: Point) -> int | None:
        """The bar of a point on a session; None where the bars begin later or end before."""
        at = round(session_index(self.dates, point[0]))
        return at if 0 <= at < len(self.dates) else None

    @property
    def plan(self) -> PlanView | None:
        """The levels, with the entry of a trade; None without."""
        entry = None if self.entry is None else self.entry[1]
        trigger = entry if self.trigger is None else self.trigger
        if trigger is None or self.stop is None or self.target is None:
            return None
        return PlanView(self.direction, trigger, self.stop, self.target, entry)

"""View: what a chart shows, as plain values that can be sent to another process."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from store.setup_view import PlanView

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
class ChartView:
    """One setup with its bars, oldest first; all prices positive, in dollars or quote currency.

    `entry` is the breakout session of a running trade and the price it was entered at.
    `attempts` is how many its formation had, if that is known.
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
    upper: TrendLine
    lower: TrendLine
    trigger: float
    stop: float
    target: float
    entry: Point | None = None
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

    @property
    def plan(self) -> PlanView:
        """The levels, with the entry of a running trade."""
        entry = None if self.entry is None else self.entry[1]
        return PlanView(self.direction, self.trigger, self.stop, self.target, entry)

"""View: what a chart shows, as plain values that can be sent to another process."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

WIDTH = 1200
"""Width of every chart, pixels."""

HEIGHT = 675
"""Height of every chart, pixels."""

Point: TypeAlias = tuple[dt.date, float]
"""A price (dollars, or the quote currency) on a session."""


@dataclass(frozen=True, slots=True)
class TrendLine:
    """A trend line by its dated endpoints: straight over the sessions on a log price axis."""

    start: Point
    end: Point
    touches: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True)
class ChartView:
    """One setup with its bars, oldest first; all prices positive, in dollars or quote currency.

    Pass up to about 320 bars: `axes.window` chooses how many of the last ones are shown. `entry` is
    the breakout session of a running trade and the price it was entered at.
    """

    symbol: str
    family_label: str
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
    disclaimer: str = ""
    source: str = ""

    def __post_init__(self) -> None:
        """Refuse bars that cannot be drawn.

        Raises:
            ValueError: there is no bar, or the columns differ in length.
        """
        lengths = {len(c) for c in (self.dates, self.open, self.high, self.low, self.close)}
        if len(lengths) != 1 or not len(self.dates):
            raise ValueError("A chart needs at least one bar, and columns of one length.")

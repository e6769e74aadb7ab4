"""Layout: every position of a chart as plain data, before anything is drawn.

Boxes are (left, top, right, bottom) in pixels, right and bottom exclusive. No two label boxes
overlap.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mcp_server.drawing import tags
from mcp_server.drawing.axes import (
    Candles,
    PriceAxis,
    SessionAxis,
    price_axis,
    price_ticks,
    session_axis,
)
from mcp_server.drawing.canvas import Box, Place
from mcp_server.drawing.sheet import SHEETS, Sheet
from mcp_server.drawing.text import Label, fact_labels, facts
from mcp_server.drawing.view import (
    USUAL,
    ChartStyle,
    ChartView,
    Point,
    TradeMark,
    TrendLine,
    session_index,
)

PRICE_GAP = 6
"""Pixels between the axis and the prices beside it."""

LEAD = 10
"""Bars before a trade that must be shown where no lines are."""


@dataclass(frozen=True, slots=True)
class Ray:
    """A trend line over the session index: straight in log price."""

    start: float
    end: float
    log_start: float
    slope: float
    touches: tuple[float, ...]

    @classmethod
    def of(cls, dates: Sequence[dt.date], line: TrendLine) -> Ray:
        """A line by the index of its sessions; level if it ends where it starts."""
        start, end = session_index(dates, line.start[0]), session_index(dates, line.end[0])
        rise = math.log(line.end[1] / line.start[1])
        slope = rise / (end - start) if end > start else 0.0
        touches = tuple(session_index(dates, date) for date, _ in line.touches)
        return cls(start, max(start, end), math.log(line.start[1]), slope, touches)

    def price(self, index: float) -> float:
        """The line's price at a session index."""
        return math.exp(min(700.0, max(-700.0, self.log_start + self.slope * (index - self.start))))


@dataclass(frozen=True, slots=True)
class Segment:
    """A straight stretch of a line between two places."""

    start: Place
    end: Place
    dotted: bool = False


@dataclass(frozen=True, slots=True)
class Spot:
    """A price on a session, in pixels: the breakout, the exit, or the trigger of the next one."""

    column: int
    y: float


@dataclass(frozen=True, slots=True)
class Layout:
    """The whole chart. `lines` are the upper and the lower one, or none. `grid_rows` and
    `grid_columns` are the labelled prices and sessions.
    """

    view: ChartView
    sheet: Sheet
    lines: tuple[Ray, ...]
    sessions: SessionAxis
    prices: PriceAxis
    candles: Candles
    levels: tuple[tags.Level, ...]
    pills: tuple[tags.Pill, ...] = ()
    flags: tuple[tags.Flag, ...] = ()
    labels: tuple[Label, ...] = ()
    grid_rows: tuple[int, ...] = ()
    grid_columns: tuple[int, ...] = ()

    @property
    def plot(self) -> Box:
        """The box in which bars and lines are drawn."""
        return self.sessions.left, self.prices.top, self.sessions.right, self.prices.bottom

    @property
    def floor(self) -> int:
        """The row below what is drawn over the sessions, volume included."""
        bottom = self.prices.bottom
        return bottom if self.candles.volume is None else max(bottom, self.sheet.volume[1])

    @property
    def levels_from(self) -> int:
        """The column from which levels are drawn: that of the breakout, or after the last bar."""
        if self.breakout is not None:
            return self.breakout.column
        return self.sessions.column(self.sessions.candles - 1) + self.sessions.slot // 2 + 1

    @property
    def breakout(self) -> Spot | None:
        """Where a trade was entered."""
        return self._spot(self.view.entry)

    @property
    def exit(self) -> Spot | None:
        """Where a past trade was left."""
        return self._spot(self.view.exit)

    @property
    def trigger(self) -> Spot | None:
        """Where a forming pattern's trigger is for the next session."""
        view = self.view
        if view.trigger is None or view.entry is not None or not self.prices.holds(view.trigger):
            return None
        return Spot(int(self.sessions.x(len(view.dates))), self.prices.y(view.trigger))

    @property
    def marks(self) -> list[tuple[TradeMark, Spot | None, Spot | None]]:
        """Each past trade, and where its entry and its exit are, as far as they are shown."""
        return [(mark, self._spot(mark.entry), self._spot(mark.exit)) for mark in self.view.marks]

    @property
    def pole(self) -> Segment | None:
        """The pole of a pennant, from its base to its tip."""
        if self.view.pole is None:
            return None
        dates = self.view.dates
        base, tip = (
            (self.sessions.x(session_index(dates, date)), self.prices.y(price))
            for date, price in self.view.pole
        )
        return Segment(base, tip)

    @property
    def segments(self) -> list[Segment]:
        """Both lines; a forming pattern's go on, dotted."""
        reach = self._reach()
        drawn = []
        for line in self.lines:
            drawn.append(self._segment(line, line.start, line.end))
            if reach > line.end:
                drawn.append(self._segment(line, line.end, reach, dotted=True))
        return drawn

    @property
    def touches(self) -> list[Place]:
        """Where each touch is marked: on its line, at its bar."""
        return [
            self._place(line, index)
            for line in self.lines
            for index in line.touches
            if self.sessions.left <= self.sessions.x(index) < self.sessions.right
            and self.prices.holds(line.price(index))
        ]

    def _reach(self) -> float:
        """The session index where the extension of a forming pattern ends: the right edge, or the
        apex before it.
        """
        if not self.lines or self.view.status != "forming":
            return -math.inf
        upper, lower = self.lines
        edge = self.sessions.index(self.sessions.right - 4)
        closing = lower.slope - upper.slope
        if closing <= 0:
            return edge
        end = max(upper.end, lower.end)
        width = math.log(upper.price(end) / lower.price(end))
        return min(edge, end + max(0.0, width / closing))

    def _place(self, line: Ray, index: float) -> Place:
        return self.sessions.x(index), self.prices.y(line.price(index))

    def _segment(self, line: Ray, start: float, end: float, dotted: bool = False) -> Segment:
        return Segment(self._place(line, start), self._place(line, end), dotted)

    def _spot(self, point: Point | None) -> Spot | None:
        """Where a point is; None if its bar is not shown."""
        index = None if point is None else self.view.index(point)
        if point is None or index is None or index < self.sessions.first:
            return None
        y = min(max(self.prices.y(point[1]), self.prices.top), self.prices.bottom)
        return Spot(int(self.sessions.x(index)), y)


def layout(view: ChartView, look: ChartStyle = USUAL) -> Layout:
    """Place everything that a view shows."""
    sheet = SHEETS[look.width]
    lines = tuple(Ray.of(view.dates, line) for line in view.lines)
    named = tags.levels(view, sheet)
    right = sheet.width - sheet.margin
    if sheet.written:
        beside = tags.scale_width(view, named, sheet) + sheet.leader + tags.pill_width(named, sheet)
        right = sheet.width - sheet.margin // 2 - beside
    # What came after a past trade is neither folded nor counted.
    entered = None if view.entry is None or view.exit else view.index(view.entry)
    start = _start(view, lines, sheet)
    sessions = session_axis(len(view.dates), start, entered, sheet, right)
    candles = Candles.of(view, sessions)
    bottom = sheet.volume[1] if candles.volume is None else sheet.bottom
    core, around = _core_prices(view, lines, start, sessions.first), _range(view, sessions.first)
    prices = price_axis(core, around, [level.price for level in named], sheet.top, bottom)
    plan = Layout(view, sheet, lines, sessions, prices, candles, named)
    return _lettered(plan, entered) if sheet.written else plan


def _lettered(plan: Layout, entered: int | None) -> Layout:
    """A layout with everything that is written on it."""
    view, sheet, sessions = plan.view, plan.sheet, plan.sessions
    beside = sheet.leader + tags.scale_width(view, plan.levels, sheet)
    placed = tags.pills(plan.levels, plan.prices, sessions.right + beside, sheet)
    named = tuple(tags.flags(view, sessions, sheet))
    ticks = price_ticks(plan.prices, sheet.price_gap)
    days = tags.date_labels(view, sessions, [flag.box for flag in named], sheet)
    known = plan.candles.volume is not None
    volume = tuple(tags.volume_label(view, placed[0].box[0], sheet)) if known else ()
    taken = [*(pill.box for pill in placed), *(label.box for label in volume)]
    since = None if entered is None else len(view.dates) - 1 - entered
    return replace(
        plan,
        pills=placed,
        flags=named,
        labels=(
            *fact_labels(facts(view, sessions.pack, since), sheet),
            *tags.price_labels(ticks, plan.prices, sessions.right + PRICE_GAP, taken, sheet),
            *(label for _, label in days),
            *volume,
        ),
        grid_rows=tuple(int(plan.prices.y(tick)) for tick in ticks),
        grid_columns=tuple(column for column, _ in days),
    )


def _start(view: ChartView, lines: Sequence[Ray], sheet: Sheet) -> int:
    """The first bar that must be shown: where the lines or the pole begin, or without lines the
    first trade, and so many bars that there is something to see.
    """
    last = len(view.dates) - 1
    if lines:
        starts = [line.start for line in lines]
        if view.pole is not None:
            starts.append(session_index(view.dates, view.pole[0][0]))
        return min(max(0, math.floor(min(starts))), last)
    marked = [index for mark in view.marks if (index := view.index(mark.entry)) is not None]
    entered = None if view.entry is None else view.index(view.entry)
    known = marked if entered is None else [*marked, entered]
    return max(0, min([last - 2 * sheet.fewest_bars, *(index - LEAD for index in known)]))


def _core_prices(view: ChartView, lines: Sequence[Ray], start: int, first: int) -> list[float]:
    """What the price axis must hold: the pattern from its start on, and what followed. `first` is
    the first bar shown.
    """
    low, high = _range(view, start)
    core = [low, high, float(view.close[-1])]
    reach = max(core) / min(core)
    for line in lines:
        ends = [min(max(end, first), len(view.dates) - 1) for end in (line.start, line.end)]
        prices = (line.price(end) for end in ends)
        # A line far away from the bars is wrong or out of date; it must not flatten them.
        core += [price for price in prices if low / reach <= price <= high * reach]
    return core


def _range(view: ChartView, first: int) -> tuple[float, float]:
    """The lowest and the highest price from a bar on."""
    return float(np.min(view.low[first:])), float(np.max(view.high[first:]))

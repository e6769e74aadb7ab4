"""Layout: every position of a chart as plain data, before anything is drawn.

Boxes are (left, top, right, bottom) in pixels, right and bottom exclusive. No two label boxes
overlap: names of levels have a column of their own, and a price or date label that would overlap
a pill or a flag is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from mcp_server.drawing import dates, lettering, words
from mcp_server.drawing.axes import SessionAxis, session_axis
from mcp_server.drawing.candles import Candles
from mcp_server.drawing.canvas import Box
from mcp_server.drawing.flags import Flag, flags
from mcp_server.drawing.label import Label, overlaps
from mcp_server.drawing.lettering import Weight
from mcp_server.drawing.lines import Rays, Segment, segment
from mcp_server.drawing.look import USUAL, Look
from mcp_server.drawing.palette import Ink
from mcp_server.drawing.pills import Level, Pill, levels, pill_width, pills
from mcp_server.drawing.prices import PriceAxis, price_axis, price_ticks, tick_decimals
from mcp_server.drawing.sheet import SHEETS, Sheet
from mcp_server.drawing.view import ChartView, Point, TradeMark

LEAD = 10
"""Bars before a trade that must be shown where no lines are."""


@dataclass(frozen=True, slots=True)
class Spot:
    """A price on a session, in pixels: the breakout, the exit, or the trigger of the next one."""

    column: int
    y: float


PlacedMark: TypeAlias = tuple[TradeMark, Spot | None, Spot | None]
"""A past trade, and where its entry and its exit are, as far as they are among the bars."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The whole chart. `grid_rows` and `grid_columns` are the labelled prices and sessions."""

    sheet: Sheet
    sessions: SessionAxis
    prices: PriceAxis
    candles: Candles
    rays: Rays | None
    grid_rows: tuple[int, ...]
    grid_columns: tuple[int, ...]
    labels: tuple[Label, ...]
    flags: tuple[Flag, ...]
    levels: tuple[Level, ...]
    pills: tuple[Pill, ...]
    segments: tuple[Segment, ...]
    pole: Segment | None
    touches: tuple[tuple[float, float], ...]
    breakout: Spot | None
    exit: Spot | None
    trigger: Spot | None
    """Where a forming pattern's trigger is for the next session."""
    marks: tuple[PlacedMark, ...]

    @property
    def plot(self) -> Box:
        """The box in which bars and lines are drawn."""
        return self.sessions.left, self.prices.top, self.sessions.right, self.prices.bottom

    @property
    def levels_from(self) -> int:
        """The column from which levels are drawn: that of the breakout, or after the last bar."""
        if self.breakout is not None:
            return self.breakout.column
        return self.sessions.column(self.sessions.candles - 1) + self.sessions.slot // 2 + 1


def layout(view: ChartView, look: Look = USUAL) -> Layout:
    """Place everything that a view shows."""
    sheet = SHEETS[look.width]
    rays, shown = Rays.of(view), levels(view, sheet)
    right = sheet.width - sheet.margin
    if sheet.written:
        right = sheet.width - sheet.margin // 2 - pill_width(shown, sheet) - sheet.leader
    # What came after a past trade is neither folded nor counted.
    entered = None if view.entry is None or view.exit else view.index(view.entry)
    count = len(view.dates)
    start = _start(view, rays, sheet)
    sessions = session_axis(count, start, entered, sheet, right)
    candles = Candles.of(view, sessions)
    prices = _price_axis(view, rays, sessions, shown, sheet, start, candles.volume is None)
    placed = pills(shown, prices, right + sheet.leader, sheet) if sheet.written else ()
    named = tuple(flags(view, sessions, sheet)) if sheet.written else ()
    ticks = price_ticks(prices, sheet.price_gap) if sheet.written else ()
    days = _date_labels(view, sessions, named, sheet) if sheet.written else []
    volume = tuple(_volume_label(candles, placed, sheet))
    taken = [*(pill.box for pill in placed), *(label.box for label in volume)]
    since = None if entered is None else count - 1 - entered
    labels = (
        *words.written(words.facts(view, sessions, since), sheet),
        *_price_labels(ticks, prices, taken, sheet),
        *(label for _, label in days),
        *volume,
    )
    return Layout(
        sheet=sheet,
        sessions=sessions,
        prices=prices,
        candles=candles,
        rays=rays,
        grid_rows=tuple(int(prices.y(tick)) for tick in ticks),
        grid_columns=tuple(column for column, _ in days),
        labels=labels,
        flags=named,
        levels=shown,
        pills=placed,
        segments=tuple(rays.segments(view, sessions, prices)) if rays else (),
        pole=_pole(rays, sessions, prices) if rays else None,
        touches=tuple(rays.touches(view, sessions, prices)) if rays else (),
        breakout=_spot(view, view.entry, sessions, prices),
        exit=_spot(view, view.exit, sessions, prices),
        trigger=_trigger(view, sessions, prices),
        marks=tuple(_marks(view, sessions, prices)),
    )


def _start(view: ChartView, rays: Rays | None, sheet: Sheet) -> int:
    """The first bar that must be shown: where the lines begin, or without lines the first trade,
    and so many bars that there is something to see.
    """
    last = len(view.dates) - 1
    if rays is not None:
        return min(max(0, math.floor(rays.start)), last)
    points = [mark.entry for mark in view.marks] + ([view.entry] if view.entry else [])
    known = [index for point in points if (index := view.index(point)) is not None]
    return max(0, min([last - 2 * sheet.fewest_bars, *(index - LEAD for index in known)]))


def _price_axis(
    view: ChartView,
    rays: Rays | None,
    sessions: SessionAxis,
    shown: Sequence[Level],
    sheet: Sheet,
    start: int,
    plain: bool,
) -> PriceAxis:
    """The price axis: the pattern and what followed, then levels, then the bars before."""
    last, first = len(view.dates) - 1, sessions.first
    lows, highs = np.array(view.low), np.array(view.high)
    core = [float(lows[start:].min()), float(highs[start:].max()), float(view.close[-1])]
    reach = max(core) / min(core)
    for line in (rays.upper, rays.lower) if rays else ():
        ends = [min(max(end, first), last) for end in (line.start, line.end)]
        prices = (line.price(end) for end in ends)
        # A line far away from the bars is wrong or out of date; it must not flatten them.
        core += [p for p in prices if core[0] / reach <= p <= core[1] * reach]
    around = [float(lows[first:].min()), float(highs[first:].max())]
    bottom = sheet.volume[1] if plain else sheet.bottom
    return price_axis(core, around, [level.price for level in shown], sheet.top, bottom)


def _spot(
    view: ChartView, point: Point | None, sessions: SessionAxis, prices: PriceAxis
) -> Spot | None:
    """Where a point is; None if its bar is not shown."""
    index = None if point is None else view.index(point)
    if point is None or index is None or index < sessions.first:
        return None
    y = min(max(prices.y(point[1]), prices.top), prices.bottom)
    return Spot(int(sessions.x(index)), y)


def _marks(view: ChartView, sessions: SessionAxis, prices: PriceAxis) -> Iterator[PlacedMark]:
    for mark in view.marks:
        entry = _spot(view, mark.entry, sessions, prices)
        yield mark, entry, _spot(view, mark.exit, sessions, prices)


def _trigger(view: ChartView, sessions: SessionAxis, prices: PriceAxis) -> Spot | None:
    if view.trigger is None or view.entry is not None or not prices.holds(view.trigger):
        return None
    return Spot(int(sessions.x(len(view.dates))), prices.y(view.trigger))


def _pole(rays: Rays, sessions: SessionAxis, prices: PriceAxis) -> Segment | None:
    if rays.pole is None:
        return None
    return segment(rays.pole, rays.pole.start, rays.pole.end, sessions, prices)


def _price_labels(
    ticks: Sequence[float], prices: PriceAxis, taken: Sequence[Box], sheet: Sheet
) -> Iterator[Label]:
    places = tick_decimals(ticks)
    for tick in ticks:
        row = int(prices.y(tick))
        left, size = taken[0][0] + sheet.pill_pad, sheet.axis_size
        label = Label(f"{tick:,.{places}f}", left, row + round(size * 0.38), size, Ink.MUTED)
        if not any(overlaps(label.box, box, 3) for box in taken):
            yield label


def _date_labels(
    view: ChartView, sessions: SessionAxis, named: Sequence[Flag], sheet: Sheet
) -> list[tuple[int, Label]]:
    """The labelled columns with their labels, in the coarsest unit that has room for enough."""
    most: list[tuple[int, Label]] = []
    for ticks, monthly in dates.date_ticks(view.dates, sessions.first):
        placed = _placed_dates(view, sessions, named, sheet, ticks, monthly)
        most = max(most, placed, key=len)
        if len(most) >= sheet.fewest_dates:
            break
    return most


def _placed_dates(
    view: ChartView,
    sessions: SessionAxis,
    named: Sequence[Flag],
    sheet: Sheet,
    ticks: Sequence[int],
    monthly: bool,
) -> list[tuple[int, Label]]:
    """The labels of some sessions; if two would touch, the earlier one stays."""
    size, before = sheet.axis_size, None
    taken = [_widened(flag.box, size) for flag in named]
    placed: list[tuple[int, Label]] = []
    for index in ticks:
        text = dates.date_label(view.dates[index], before, monthly)
        weight: Weight = "SemiBold" if text[-4:].isdigit() else "Regular"
        column = int(sessions.x(index))
        left = column - lettering.width(text, size, weight) // 2
        label = Label(text, left, sheet.date_baseline, size, Ink.MUTED, weight)
        inside = left >= sheet.margin // 2 and label.right <= sessions.right
        if inside and not any(overlaps(label.box, box) for box in taken):
            taken.append(_widened(label.box, size))
            placed.append((column, label))
            before = view.dates[index]
    return placed


def _widened(box: Box, by: int) -> Box:
    left, top, right, bottom = box
    return left - by, top, right + by, bottom


def _volume_label(candles: Candles, placed: Sequence[Pill], sheet: Sheet) -> Iterator[Label]:
    """The volume at the top of its scale."""
    if candles.volume is not None and placed:
        text = f"Vol {words.amount(candles.busiest)}"
        size, left = sheet.axis_size, placed[0].box[0] + sheet.pill_pad
        label = Label(text, left, sheet.volume[0] + round(size * 0.8), size, Ink.MUTED)
        if label.right <= sheet.width:
            yield label

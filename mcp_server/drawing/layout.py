"""Layout: every position of a chart as plain data, before anything is drawn.

Boxes are (left, top, right, bottom) in pixels, right and bottom exclusive. No two label boxes
overlap: names of levels have a column of their own, and a price or date label that would overlap
a pill is left out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcp_server.drawing import axes, lettering
from mcp_server.drawing.axes import PriceAxis, Ray, SessionAxis
from mcp_server.drawing.canvas import Box
from mcp_server.drawing.lettering import Weight
from mcp_server.drawing.palette import Ink
from mcp_server.drawing.pills import (
    PILL_HEIGHT,
    PILL_PAD,
    Pill,
    levels,
    pill_width,
    pills,
)
from mcp_server.drawing.view import WIDTH, ChartView

MARGIN = 16
TOP, BOTTOM = 70, 608
"""The rows between which prices are drawn."""

LEADER = 13
"""Pixels between the axis and the pills, for the leaders to pills that were moved."""

AXIS_SIZE, FOOT_SIZE = 13, 12
DATE_BASELINE = BOTTOM + 21
DATE_GAP = 12
FOOT_BASELINES, FOOT_MIDDLE = (650, 666), (657,)
SOURCE_ROOM = 380
SEPARATOR = "  ·  "


@dataclass(frozen=True, slots=True)
class Label:
    """A line of text: the pen starts at `left` on `baseline`; `box` is the room it takes."""

    text: str
    left: int
    baseline: int
    size: int
    ink: Ink
    weight: Weight = "Regular"

    @property
    def box(self) -> Box:
        """The room of the text, from above the capitals to below the descenders."""
        right = self.left + lettering.width(self.text, self.size, self.weight)
        top = self.baseline - round(self.size * 0.8)
        return self.left, top, right, self.baseline + round(self.size * 0.25)


@dataclass(frozen=True, slots=True)
class Segment:
    """A straight stretch of a trend line between two pixel coordinates (x, y)."""

    start: tuple[float, float]
    end: tuple[float, float]
    dotted: bool


@dataclass(frozen=True, slots=True)
class Breakout:
    """The entry of a running trade: its column, its price's pixel, its flag at the date axis."""

    column: int
    y: float
    box: Box
    label: Label


@dataclass(frozen=True, slots=True)
class Layout:
    """The whole chart. `grid_rows` and `grid_columns` are the labelled prices and sessions."""

    sessions: SessionAxis
    prices: PriceAxis
    upper: Ray
    lower: Ray
    grid_rows: tuple[int, ...]
    grid_columns: tuple[int, ...]
    labels: tuple[Label, ...]
    pills: tuple[Pill, ...]
    segments: tuple[Segment, ...]
    touches: tuple[tuple[float, float], ...]
    breakout: Breakout | None

    @property
    def plot(self) -> Box:
        """The box in which bars and lines are drawn."""
        return self.sessions.left, self.prices.top, self.sessions.right, self.prices.bottom


def layout(view: ChartView) -> Layout:
    """Place everything that a view shows."""
    upper = axes.ray(view.dates, view.upper.start, view.upper.end)
    lower = axes.ray(view.dates, view.lower.start, view.lower.end)
    shown = levels(view)
    right = WIDTH - MARGIN // 2 - pill_width(shown) - LEADER
    sessions = _session_axis(view, min(upper.start, lower.start), right)
    prices = _price_axis(view, (upper, lower), sessions, [level.price for level in shown])
    placed = pills(shown, prices, right + LEADER)
    breakout = _breakout(view, sessions, prices)
    ticks = axes.price_ticks(prices)
    dates = _date_labels(view, sessions, breakout)
    price_labels, date_labels = _price_labels(ticks, prices, placed), (label for _, label in dates)
    return Layout(
        sessions=sessions,
        prices=prices,
        upper=upper,
        lower=lower,
        grid_rows=tuple(int(prices.y(tick)) for tick in ticks),
        grid_columns=tuple(column for column, _ in dates),
        labels=(*_title(view), *price_labels, *date_labels, *_footer(view)),
        pills=placed,
        segments=tuple(_segments(view, (upper, lower), sessions, prices)),
        touches=tuple(_touches(view, sessions, prices)),
        breakout=breakout,
    )


def overlaps(one: Box, other: Box, gap: int = 0) -> bool:
    """Whether two boxes share a pixel, or are less than `gap` pixels apart."""
    return (
        one[0] < other[2] + gap
        and other[0] < one[2] + gap
        and one[1] < other[3] + gap
        and other[1] < one[3] + gap
    )


def _session_axis(view: ChartView, start: float, right: int) -> SessionAxis:
    count = len(view.dates)
    span = min(count, max(1, math.ceil(count - start)))
    bars, slot, _ = axes.window(span, count, right - MARGIN)
    return SessionAxis(MARGIN, right, slot, count - bars)


def _price_axis(
    view: ChartView, rays: Sequence[Ray], sessions: SessionAxis, named: Sequence[float]
) -> PriceAxis:
    first, last = sessions.first, len(view.dates) - 1
    core = [float(min(view.low[first:])), float(max(view.high[first:])), float(view.close[-1])]
    reach = max(core) / min(core)
    for line in rays:
        ends = [min(max(end, first), last) for end in (line.start, line.end)]
        prices = (line.price(end) for end in ends)
        # A line far away from the bars is wrong or out of date; it must not flatten them.
        core += [p for p in prices if core[0] / reach <= p <= core[1] * reach]
    return axes.price_axis(core, named, TOP, BOTTOM)


def _breakout(view: ChartView, sessions: SessionAxis, prices: PriceAxis) -> Breakout | None:
    if view.entry is None:
        return None
    date, price = view.entry
    index = round(axes.session_index(view.dates, date))
    if not sessions.first <= index < len(view.dates):
        return None
    text = f"Breakout {axes.day_label(date)}"
    width = lettering.width(text, AXIS_SIZE, "SemiBold") + 2 * PILL_PAD
    column = sessions.column(index)
    left = min(max(MARGIN, column - width // 2), sessions.right - width)
    box = (left, BOTTOM + 5, left + width, BOTTOM + 5 + PILL_HEIGHT)
    label = Label(text, left + PILL_PAD, DATE_BASELINE, AXIS_SIZE, Ink.PAPER, "SemiBold")
    return Breakout(column, min(max(prices.y(price), TOP), BOTTOM), box, label)


def _title(view: ChartView) -> Iterator[Label]:
    room = WIDTH - 2 * MARGIN
    names = (lettering.clean(view.symbol), lettering.clean(view.family_label), "Daily")
    title = lettering.fit(SEPARATOR.join(names), room, 20, "SemiBold")
    yield Label(title, MARGIN, 32, 20, Ink.TITLE, "SemiBold")
    status = view.status.replace("_", " ")
    facts = (f"As of {view.as_of.isoformat()}", f"{view.direction}, {status}", "log price axis")
    yield Label(SEPARATOR.join(facts), MARGIN, 53, 14, Ink.MUTED)


def _price_labels(
    ticks: Sequence[float], prices: PriceAxis, placed: Sequence[Pill]
) -> Iterator[Label]:
    places = axes.tick_decimals(ticks)
    for tick in ticks:
        row = int(prices.y(tick))
        left = placed[0].box[0] + PILL_PAD
        label = Label(f"{tick:,.{places}f}", left, row + 5, AXIS_SIZE, Ink.MUTED)
        if not any(overlaps(label.box, pill.box, 3) for pill in placed):
            yield label


def _date_labels(
    view: ChartView, sessions: SessionAxis, breakout: Breakout | None
) -> list[tuple[int, Label]]:
    """The labelled columns with their labels; if two labels would touch, the earlier one stays."""
    taken = [breakout.box] if breakout else []
    placed: list[tuple[int, Label]] = []
    for index, text in axes.date_ticks(view.dates, sessions.first):
        weight: Weight = "SemiBold" if text[-4:].isdigit() else "Regular"
        column = sessions.column(index)
        left = column - lettering.width(text, AXIS_SIZE, weight) // 2
        label = Label(text, left, DATE_BASELINE, AXIS_SIZE, Ink.MUTED, weight)
        inside = left >= MARGIN // 2 and label.box[2] <= sessions.right
        if inside and not any(overlaps(label.box, box, DATE_GAP) for box in taken):
            taken.append(label.box)
            placed.append((column, label))
    return placed


def _footer(view: ChartView) -> Iterator[Label]:
    source = lettering.clean(f"Source: {view.source}") if view.source else ""
    source = lettering.fit(source, SOURCE_ROOM, FOOT_SIZE)
    left = WIDTH - MARGIN - lettering.width(source, FOOT_SIZE)
    lines = lettering.wrap(lettering.clean(view.disclaimer), left - 3 * MARGIN, 2, FOOT_SIZE)
    baselines = FOOT_BASELINES if len(lines) > 1 else FOOT_MIDDLE
    for baseline, text in zip(baselines, lines, strict=False):
        yield Label(text, MARGIN, baseline, FOOT_SIZE, Ink.MUTED)
    if source:
        yield Label(source, left, baselines[0], FOOT_SIZE, Ink.MUTED)


def _segments(
    view: ChartView, rays: Sequence[Ray], sessions: SessionAxis, prices: PriceAxis
) -> Iterator[Segment]:
    reach = _reach(view, rays, sessions)
    for line in rays:
        yield _segment(line, line.start, line.end, sessions, prices)
        if reach > line.end:
            yield _segment(line, line.end, reach, sessions, prices, dotted=True)


def _reach(view: ChartView, rays: Sequence[Ray], sessions: SessionAxis) -> float:
    """The session index where a forming pattern's dotted extension ends: right edge or apex."""
    if view.status != "forming":
        return -math.inf
    upper, lower = rays
    edge, closing = sessions.index(sessions.right - 4), lower.slope - upper.slope
    if closing <= 0:
        return edge
    end = max(upper.end, lower.end)
    width = math.log(upper.price(end) / lower.price(end))
    return min(edge, end + max(0.0, width / closing))


def _segment(
    line: Ray,
    start: float,
    end: float,
    sessions: SessionAxis,
    prices: PriceAxis,
    dotted: bool = False,
) -> Segment:
    ends = [(sessions.x(at), prices.y(line.price(at))) for at in (start, end)]
    return Segment(ends[0], ends[1], dotted)


def _touches(
    view: ChartView, sessions: SessionAxis, prices: PriceAxis
) -> Iterator[tuple[float, float]]:
    for date, price in (*view.upper.touches, *view.lower.touches):
        x, y = sessions.x(axes.session_index(view.dates, date)), prices.y(price)
        if sessions.left <= x < sessions.right and prices.holds(price):
            yield x, y

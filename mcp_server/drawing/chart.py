"""Chart: paints a layout from the bottom up: tints, grid, levels, candles, lines, words."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from mcp_server.drawing import lettering
from mcp_server.drawing.axes import Ray
from mcp_server.drawing.canvas import Canvas, Floats
from mcp_server.drawing.layout import Breakout, Label, Layout, layout
from mcp_server.drawing.look import USUAL, Look
from mcp_server.drawing.palette import Ink
from mcp_server.drawing.pills import PILL_HEIGHT, PILL_PAD, PILL_SIZE, Pill
from mcp_server.drawing.view import HEIGHT, WIDTH, ChartView

WIDEST_BODY = 15
"""Widest body of a candle, pixels."""

TOUCH_RADIUS, ENTRY_RADIUS = 3.6, 4.6
KNEE = 4.0
"""Pixels from the axis to the point where a leader line bends."""

RING = 1.4
"""Pixels of white around a dot, which separate it from the candles."""


def draw(view: ChartView, look: Look = USUAL) -> bytes:  # noqa: ARG001
    """The chart of a setup as a PNG of 1200 x 675 pixels in palette mode."""
    plan = layout(view)
    canvas = Canvas(WIDTH, HEIGHT)
    _tints(canvas, view, plan)
    _grid(canvas, plan)
    _levels(canvas, plan)
    _candles(canvas, view, plan)
    _lines(canvas, plan)
    _words(canvas, plan)
    return canvas.png()


def _tints(canvas: Canvas, view: ChartView, plan: Layout) -> None:
    """Shade the pattern between its lines, and the reward and the risk of a running trade."""
    left, top, right, bottom = plan.plot
    if plan.breakout is not None:
        entry, column = round(plan.breakout.y), plan.breakout.column
        for price, ink in ((view.target, Ink.REWARD), (view.stop, Ink.RISK)):
            edge = min(max(round(plan.prices.y(price)), top), bottom)
            canvas.fill((column, min(entry, edge), right, max(entry, edge)), ink)
    first = max(plan.upper.start, plan.lower.start)
    last = min(plan.upper.end, plan.lower.end)
    start = max(left, int(plan.sessions.x(first)))
    end = min(right, int(plan.sessions.x(last)))
    if start < end:
        high, low = (_rows(plan, line, start, end) for line in (plan.upper, plan.lower))
        high, low = np.clip(high, top, bottom), np.clip(low, top, bottom)
        canvas.between(np.arange(start, end), high, low, Ink.BODY)


def _rows(plan: Layout, line: Ray, start: int, end: int) -> Floats:
    """The pixel coordinate of a line in each column; the line is straight in pixels too."""
    first, last = (plan.prices.y(line.price(plan.sessions.index(x + 0.5))) for x in (start, end))
    return np.linspace(first, last, end - start, endpoint=False)


def _grid(canvas: Canvas, plan: Layout) -> None:
    left, top, right, bottom = plan.plot
    for row in plan.grid_rows:
        canvas.fill((left, row, right, row + 1), Ink.GRID)
    for column in plan.grid_columns:
        canvas.fill((column, top, column + 1, bottom), Ink.GRID)
    canvas.fill((right, top, right + 1, bottom + 1), Ink.AXIS)
    canvas.fill((left, bottom, right, bottom + 1), Ink.AXIS)


def _levels(canvas: Canvas, plan: Layout) -> None:
    """Draw the levels as dashed lines, from the pattern's start or from the breakout."""
    left, _, right, _ = plan.plot
    if plan.breakout is not None:
        start = plan.breakout.column
        canvas.dots(start, plan.prices.top, plan.prices.bottom, Ink.ENTRY)
    else:
        start = int(plan.sessions.x(min(plan.upper.start, plan.lower.start)))
    rows: dict[int, list[Ink]] = {}
    for pill in plan.pills:
        if pill.level.dashed and pill.y is not None:
            rows.setdefault(int(pill.y), []).append(pill.level.ink)
    for row, inks in rows.items():
        canvas.dashes(row, max(left, start), right, inks)


def _candles(canvas: Canvas, view: ChartView, plan: Layout) -> None:
    shown = slice(plan.sessions.first, None)
    prices = plan.prices
    logs = np.log(np.array([c[shown] for c in (view.open, view.high, view.low, view.close)]))
    scale = (prices.bottom - prices.top) / np.log(prices.high / prices.low)
    rows = np.floor(prices.top + (np.log(prices.high) - logs) * scale).astype(int)
    body = _body_width(plan.sessions.slot)
    column = plan.sessions.column(plan.sessions.first)
    for opened, high, low, closed in rows.T.tolist():
        ink = Ink.UP if closed <= opened else Ink.DOWN
        canvas.fill((column, high, column + 1, low + 1), ink)
        left = column - body // 2 if body > 2 else column
        canvas.fill((left, min(opened, closed), left + body, max(opened, closed) + 1), ink)
        column += plan.sessions.slot


def _body_width(slot: int) -> int:
    """The body's width: odd, so that the wick is in the middle; two where three would touch."""
    if slot < 4:
        return 2
    widest = min(WIDEST_BODY, slot * 3 // 4 + 1)
    return widest - 1 + widest % 2


def _lines(canvas: Canvas, plan: Layout) -> None:
    for segment in plan.segments:
        canvas.stroke(segment.start, segment.end, plan.plot, Ink.LINE, dotted=segment.dotted)
    for x, y in plan.touches:
        canvas.disc(x, y, TOUCH_RADIUS + RING, Ink.PAPER)
        canvas.disc(x, y, TOUCH_RADIUS, Ink.LINE)
    if plan.breakout is not None:
        x = plan.breakout.column + 0.5
        canvas.disc(x, plan.breakout.y, ENTRY_RADIUS + RING, Ink.PAPER)
        canvas.disc(x, plan.breakout.y, ENTRY_RADIUS, Ink.ENTRY)


def _words(canvas: Canvas, plan: Layout) -> None:
    for label in plan.labels:
        _write(canvas, label)
    for pill in plan.pills:
        _pill(canvas, pill, plan.plot)
    if plan.breakout is not None:
        _flag(canvas, plan.breakout)


def _write(canvas: Canvas, label: Label) -> None:
    canvas.text(label.left, label.baseline, label.text, label.size, label.ink, label.weight)


def _pill(canvas: Canvas, pill: Pill, plot: tuple[int, int, int, int]) -> None:
    """A pill with its name on the left and its price on the right, and the leader to its level."""
    left, top, right, bottom = pill.box
    if pill.y is not None:
        row, middle = int(pill.y) + 0.5, (top + bottom) / 2
        knee = plot[2] + KNEE
        clip = (plot[2] + 1, plot[1] - PILL_HEIGHT, left + 2, plot[3] + PILL_HEIGHT)
        for start, end in pairwise(((plot[2] + 1.0, row), (knee, row), (left + 2.0, middle))):
            canvas.stroke(start, end, clip, pill.level.ink, 1.0 if row == middle else 1.3)
    canvas.pill(pill.box, pill.level.ink)
    baseline = bottom - 6
    canvas.text(left + PILL_PAD, baseline, pill.name, PILL_SIZE, Ink.PAPER, "Regular")
    price = right - PILL_PAD - lettering.width(pill.price, PILL_SIZE, "SemiBold")
    canvas.text(price, baseline, pill.price, PILL_SIZE, Ink.PAPER, "SemiBold")


def _flag(canvas: Canvas, breakout: Breakout) -> None:
    canvas.pill(breakout.box, Ink.ENTRY)
    _write(canvas, breakout.label)

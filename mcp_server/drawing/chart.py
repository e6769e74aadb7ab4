"""Chart: paints a layout from the bottom up: tints, grid, volume, levels, candles, lines, words."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from mcp_server.drawing.canvas import Canvas, Floats, Ink
from mcp_server.drawing.layout import Layout, Ray, layout
from mcp_server.drawing.tags import Pill
from mcp_server.drawing.view import USUAL, ChartStyle, ChartView

MAX_BODY_WIDTH = 15
"""Widest body of a candle, pixels."""

HOLLOW = 3
"""Narrowest body of a rising candle that is drawn hollow, pixels."""

KNEE = 4.0
"""Pixels from the axis to the point where a leader line bends."""

RING = 1.4
"""Pixels of paper around a dot, which separate it from the candles."""


def draw(view: ChartView, look: ChartStyle = USUAL) -> bytes:
    """The chart of a setup as a PNG in palette mode, as wide and high as the look says."""
    canvas, plan = Canvas(look), layout(view, look)
    for paint in (
        _tints,
        _grid,
        _volume,
        _levels,
        _candles,
        _lines,
        _dots,
        _marks,
        _words,
    ):
        paint(canvas, plan)
    return canvas.png()


def _tints(canvas: Canvas, plan: Layout) -> None:
    """Shade the pattern between its lines, and the reward and the risk of a running trade."""
    left, top, right, bottom = plan.plot
    levels, breakout = plan.view.plan, plan.breakout
    if breakout is not None and levels is not None:
        entry, ends = round(breakout.y), right if plan.exit is None else plan.exit.column + 1
        for price, ink in ((levels.target, Ink.REWARD), (levels.stop, Ink.RISK)):
            edge = min(max(round(plan.prices.y(price)), top), bottom)
            canvas.fill((breakout.column, min(entry, edge), ends, max(entry, edge)), ink)
    if not plan.lines:
        return
    upper, lower = plan.lines
    start = max(left, int(plan.sessions.x(max(upper.start, lower.start))))
    end = min(right, int(plan.sessions.x(min(upper.end, lower.end))))
    if start < end:
        high, low = (np.clip(_rows(plan, line, start, end), top, bottom) for line in plan.lines)
        canvas.between(np.arange(start, end), high, low, Ink.BODY)


def _rows(plan: Layout, line: Ray, start: int, end: int) -> Floats:
    """The pixel coordinate of a line in each column; the line is straight in pixels too."""
    first, last = (plan.prices.y(line.price(plan.sessions.index(x + 0.5))) for x in (start, end))
    return np.linspace(first, last, end - start, endpoint=False)


def _grid(canvas: Canvas, plan: Layout) -> None:
    (left, top, right, bottom), floor = plan.plot, plan.floor
    for row in plan.grid_rows:
        canvas.fill((left, row, right, row + 1), Ink.GRID)
    for column in plan.grid_columns:
        canvas.fill((column, top, column + 1, floor), Ink.GRID)
    if plan.sessions.is_folded:
        for offset in (-2, 1):
            canvas.dots(plan.sessions.fold_column + offset, top, floor, Ink.MUTED)
    if plan.sheet.written:
        canvas.fill((right, top, right + 1, floor + 1), Ink.AXIS)
        for row in {bottom, floor}:
            canvas.fill((left, row, right, row + 1), Ink.AXIS)
        if plan.sessions.is_folded:
            _break(canvas, plan.sessions.fold_column, floor)


def _break(canvas: Canvas, column: int, floor: int) -> None:
    """Two slanted strokes through the date axis where the scale of time changes."""
    canvas.fill((column - 2, floor, column + 3, floor + 1), Ink.PAPER)
    for offset in (-3.0, 2.0):
        below, above = ((column + offset + up * 2.5, floor + 0.5 - up * 5) for up in (-1, 1))
        canvas.stroke(below, above, (0, 0, *canvas.pixels.shape[::-1]), Ink.MUTED, 1.4)


def _volume(canvas: Canvas, plan: Layout) -> None:
    top, bottom = plan.sheet.volume
    if plan.candles.volume is None or bottom <= top:
        return
    shares = np.nan_to_num(plan.candles.volume / plan.candles.busiest)
    heights = np.ceil(np.minimum(shares, 1) * (bottom - top)).astype(int)
    body = _body_width(plan.sessions.slot)
    columns = zip(heights.tolist(), plan.candles.rising.tolist(), strict=True)
    for candle, (height, rising) in enumerate(columns):
        left = plan.sessions.column(candle) - (body // 2 if body > 2 else 0)
        ink = Ink.VOLUME_UP if rising else Ink.VOLUME_DOWN
        canvas.fill((left, bottom - height, left + body, bottom), ink)


def _levels(canvas: Canvas, plan: Layout) -> None:
    """Draw the levels as dashed lines to the right edge, and an arrow for one beyond the axis."""
    _, top, right, bottom = plan.plot
    if plan.breakout is not None and plan.sheet.written:
        canvas.dots(plan.breakout.column, top, plan.floor, Ink.ENTRY)
    thickness, half = plan.sheet.level, 4 + 2 * plan.sheet.level
    rows: dict[int, list[Ink]] = {}
    for level in (level for level in plan.levels if level.dashed):
        if plan.prices.holds(level.price):
            rows.setdefault(int(plan.prices.y(level.price)), []).append(level.ink)
        else:
            down = level.price < plan.prices.low
            canvas.arrow(right - half - 1, bottom - 1 if down else top, down, half, level.ink)
    for row, inks in rows.items():
        above = row - thickness // 2
        canvas.dashes(slice(above, above + thickness), plan.levels_from, right, inks)


def _candles(canvas: Canvas, plan: Layout) -> None:
    prices, drawn = plan.prices, plan.candles
    logs = np.log(np.array([drawn.open, drawn.high, drawn.low, drawn.close]))
    scale = (prices.bottom - prices.top) / np.log(prices.high / prices.low)
    rows = np.floor(prices.top + (np.log(prices.high) - logs) * scale)
    # What is off the axis is cut: the clip leaves it one row outside the plot, where it is no box.
    rows = np.clip(rows, prices.top - 1, prices.bottom).astype(int)
    body = _body_width(plan.sessions.slot)
    for candle, (opened, high, low, closed) in enumerate(rows.T.tolist()):
        column = plan.sessions.column(candle)
        left = column - body // 2 if body > 2 else column
        top = max(prices.top, min(opened, closed))
        bottom = min(prices.bottom, max(opened, closed) + 1)
        ink = Ink.UP if drawn.rising[candle] else Ink.DOWN
        wick = max(prices.top, high), min(prices.bottom, low + 1)
        canvas.fill((column, wick[0], column + 1, wick[1]), ink)
        canvas.fill((left, top, left + body, bottom), ink)
        if ink is Ink.UP and body >= HOLLOW and bottom - top > 2:
            canvas.fill((left + 1, top + 1, left + body - 1, bottom - 1), Ink.PAPER)


def _body_width(slot: int) -> int:
    """The body's width: odd, so that the wick is in the middle; less where bodies would touch."""
    if slot < 4:
        return slot - 1
    widest = min(MAX_BODY_WIDTH, slot * 3 // 4 + 1)
    return widest - 1 + widest % 2


def _lines(canvas: Canvas, plan: Layout) -> None:
    thickness = plan.sheet.line
    if plan.pole is not None:
        canvas.stroke(plan.pole.start, plan.pole.end, plan.plot, Ink.MUTED, thickness)
    for line in plan.segments:
        canvas.stroke(line.start, line.end, plan.plot, Ink.LINE, thickness, line.dotted)


def _dots(canvas: Canvas, plan: Layout) -> None:
    radius = plan.sheet.touch
    if not radius:
        return
    dots = [(x, y, radius, Ink.LINE) for x, y in plan.touches]
    spots = ((plan.breakout, Ink.ENTRY), (plan.exit, Ink.ENTRY), (plan.trigger, Ink.TRIGGER))
    dots += [(at.column + 0.5, at.y, radius * 1.25, ink) for at, ink in spots if at is not None]
    for x, y, reach, ink in dots:
        canvas.disc(x, y, reach + RING, Ink.PAPER)
        canvas.disc(x, y, reach, ink)


def _marks(canvas: Canvas, plan: Layout) -> None:
    """Each past trade as a dotted line from its entry, an arrow head, to its exit: a full dot at
    the target, else a ring.
    """
    radius = plan.sheet.touch
    for mark, entry, left in plan.marks if radius else ():
        ink = Ink.TARGET if mark.won else Ink.STOP
        if entry is not None and left is not None:
            start, end = ((spot.column + 0.5, spot.y) for spot in (entry, left))
            canvas.stroke(start, end, plan.plot, Ink.ENTRY, plan.sheet.line, dotted=True)
        if entry is not None:
            half, down = round(radius * 2), mark.direction == "bearish"
            canvas.arrow(entry.column, round(entry.y), down, half, Ink.ENTRY)
        if left is not None:
            canvas.disc(left.column + 0.5, left.y, radius + RING, Ink.PAPER)
            canvas.disc(left.column + 0.5, left.y, radius, ink)
            if not mark.won:
                canvas.disc(left.column + 0.5, left.y, radius / 2, Ink.PAPER)


def _words(canvas: Canvas, plan: Layout) -> None:
    for pill in plan.pills:
        _leader(canvas, pill, plan)
    for label in plan.labels:
        canvas.fill(label.box, Ink.PAPER)  # a leader passes behind a price
        label.draw(canvas)
    for pill in plan.pills:
        canvas.pill(pill.box, pill.level.ink)
        pill.name.draw(canvas)
        pill.price.draw(canvas)
    for flag in plan.flags:
        canvas.pill(flag.box, flag.ink)
        flag.label.draw(canvas)


def _leader(canvas: Canvas, pill: Pill, plan: Layout) -> None:
    """The line from the axis to a pill, if its level is on the axis."""
    if pill.y is None:
        return
    left, top, _, bottom = pill.box
    _, first, right, last = plan.plot
    row, middle = int(pill.y) + 0.5, (top + bottom) / 2
    height = plan.sheet.pill_height
    clip = (right + 1, first - height, left + 2, last + height)
    thickness = plan.sheet.level * (1.0 if row == middle else 1.3)
    for start, end in pairwise(((right + 1.0, row), (right + KNEE, row), (left + 2.0, middle))):
        canvas.stroke(start, end, clip, pill.level.ink, thickness)

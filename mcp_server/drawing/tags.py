"""Tags: the names and labels at both axes, placed so that each can be read.

Levels have pills in a column of their own at the right edge, pushed apart; breakout, exit, fold and
the trigger's session have flags below the dates.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mcp_server.drawing import axes
from mcp_server.drawing.axes import PriceAxis, SessionAxis
from mcp_server.drawing.canvas import Box, Ink
from mcp_server.drawing.sheet import Sheet
from mcp_server.drawing.text import Label, Weight, amount, overlaps, text_width
from mcp_server.drawing.view import ChartView
from store.wire.currency import decimals
from store.wire.words import change

PILL_GAP = 3
NAME_GAP = 8
UP, DOWN = " ↑", " ↓"
"""The arrow after the name of a level that is off the axis."""

FLAG_GAP = 6
"""Pixels between two flags."""


@dataclass(frozen=True, slots=True)
class Level:
    """A price that gets a pill; a dashed level is also drawn across the chart."""

    name: str
    price: float
    ink: Ink
    dashed: bool = True


@dataclass(frozen=True, slots=True)
class Pill:
    """A level's label; `y` is the pixel coordinate of the level, None if that is off the axis."""

    level: Level
    name: Label
    price: Label
    box: Box
    y: float | None


@dataclass(frozen=True, slots=True)
class Flag:
    """Words in a coloured box at the date axis."""

    box: Box
    label: Label
    ink: Ink


def levels(view: ChartView, sheet: Sheet) -> tuple[Level, ...]:
    """The prices that a chart names; of two equal prices the first stands higher."""

    def named(name: str, percent: float) -> str:
        return name if sheet.narrow else f"{name} {change(percent)}"

    plan, shown = view.plan, []
    if plan is not None:
        shown.append(Level(named("Target", plan.target_pct), plan.target, Ink.TARGET))
    if view.entry is not None:
        shown.append(Level("Entry", view.entry[1], Ink.ENTRY))
    if view.trigger is not None and (view.entry is None or not sheet.narrow):
        shown.append(Level("Trigger", view.trigger, Ink.TRIGGER))
    if plan is not None:
        shown.append(Level(named("Stop", plan.stop_pct), plan.stop, Ink.STOP))
    if (other := view.other) is not None:
        shown += [
            Level(named("Target", other.target_pct), other.target, Ink.TARGET),
            Level("Trigger", other.trigger, Ink.TRIGGER),
            Level(named("Stop", other.stop_pct), other.stop, Ink.STOP),
        ]
        sides = (view.direction,) * 3 + (other.direction,) * 3
        shown = [
            replace(level, name=f"{side} {level.name.lower()}".capitalize())
            for level, side in zip(shown, sides, strict=True)
        ]
    if view.exit is not None:
        return (*shown, Level("Exit", view.exit[1], Ink.LAST, dashed=False))
    # Bars are float32: their seven digits are the price that sentences round, their value is not.
    last = float(f"{view.close[-1]:.7g}")
    return (*shown, Level("Last", last, Ink.LAST, dashed=False))


def pill_width(named: Sequence[Level], sheet: Sheet) -> int:
    """The width of all pills of a chart, pixels: a column of names and one of prices, or one of
    both.

    Names have room for an arrow, so that the width does not depend on the axis.
    """
    size = sheet.axis_size
    names = max(text_width(level.name + UP, size) for level in named)
    prices = max(text_width(text, size, "SemiBold") for text in _prices(named))
    widest = max(names, prices) if sheet.narrow else names + NAME_GAP + prices
    return widest + 2 * sheet.pill_pad


def _prices(named: Sequence[Level]) -> list[str]:
    places = decimals(min(level.price for level in named))
    return [f"{level.price:,.{places}f}" for level in named]


def scale_width(view: ChartView, named: Sequence[Level], sheet: Sheet) -> int:
    """The width of the labels of prices between the axis and the pills, pixels."""
    top = max(float(max(view.high)), *(level.price for level in named))
    if sheet.narrow:  # round prices have some three digits; a longer one gives way to a pill
        places = max(0, 2 - math.floor(math.log10(top)))
        return text_width("0" * len(f"{top:,.{places}f}"), sheet.axis_size)
    highest = Level("", top, Ink.MUTED)
    return max(text_width(text, sheet.axis_size) for text in _prices([*named, highest]))


def pills(named: Sequence[Level], axis: PriceAxis, left: int, sheet: Sheet) -> tuple[Pill, ...]:
    """A pill for each level, highest first, as near to its price as the others allow.

    A level off the axis has its pill at the edge, with an arrow.
    """
    height, right = sheet.pill_height, sheet.width - sheet.margin // 2
    rows = sorted(zip(named, _prices(named), strict=True), key=lambda row: -row[0].price)
    wanted = [int(axis.y(level.price)) - height // 2 for level, _ in rows]
    tops = spread(wanted, height + PILL_GAP, axis.top, axis.bottom - height)
    return tuple(
        _pill(level, axis, price, (left, top, right, top + height), sheet)
        for (level, price), top in zip(rows, tops, strict=True)
    )


def _pill(level: Level, axis: PriceAxis, price: str, box: Box, sheet: Sheet) -> Pill:
    left, right, size = box[0] + sheet.pill_pad, box[2] - sheet.pill_pad, sheet.axis_size
    name, y = level.name, axis.y(level.price) if axis.holds(level.price) else None
    if y is None:
        name += UP if level.price > axis.high else DOWN
    if sheet.narrow:
        baseline = box[3] - round(size * 0.42)
        above, start = baseline - size, left
    else:
        baseline = above = box[3] - round(size * 0.46)
        start = right - text_width(price, size, "SemiBold")
    first = Label(name, left, above, size, Ink.PAPER)
    return Pill(level, first, Label(price, start, baseline, size, Ink.PAPER, "SemiBold"), box, y)


def spread(wanted: Sequence[int], step: int, first: int, last: int) -> list[int]:
    """Positions at least `step` apart within [first, last], as near to the wanted ones as possible.

    `wanted` is ascending. With the spacing subtracted this is an isotonic regression, solved by
    pooling adjacent violators.
    """
    last = max(last, first + step * (len(wanted) - 1))
    ceiling = last - step * (len(wanted) - 1)
    loose = [at - step * i for i, at in enumerate(wanted)]
    return [min(max(at, first), ceiling) + step * i for i, at in enumerate(_rising(loose))]


def _rising(values: Sequence[int]) -> Iterator[int]:
    pools: list[tuple[int, int]] = []
    for value in values:
        total, count = value, 1
        while pools and pools[-1][0] * count >= total * pools[-1][1]:
            before, members = pools.pop()
            total, count = total + before, count + members
        pools.append((total, count))
    for total, count in pools:
        yield from [round(total / count)] * count


def flags(view: ChartView, sessions: SessionAxis, sheet: Sheet) -> Iterator[Flag]:
    """The flags of a view, none over another: where there is no room for both, the earlier one
    gives way to the left, and is left out if it would leave the chart.
    """
    size, top = sheet.axis_size, sheet.flag_baseline - round(sheet.axis_size * 1.16)
    edge = sessions.right
    for text, column, ink in _flag_texts(view, sessions, sheet):
        width = text_width(text, size, "SemiBold") + 2 * sheet.pill_pad
        wanted = column - width // 2 if ink is Ink.ENTRY else column
        left = min(max(sheet.margin, wanted), edge - width)
        if left >= 0:
            start, edge = left + sheet.pill_pad, left - FLAG_GAP
            label = Label(text, start, sheet.flag_baseline, size, Ink.PAPER, "SemiBold")
            yield Flag((left, top, left + width, top + round(size * 1.65)), label, ink)


def _flag_texts(
    view: ChartView, sessions: SessionAxis, sheet: Sheet
) -> Iterator[tuple[str, int, Ink]]:
    """Each text and its column, at which the flag begins, or at which its middle is (`ENTRY`)."""
    if sessions.is_folded:
        yield sheet.fold.format(sessions.folded), sessions.fold_column, Ink.FOLD
    if view.trigger is not None and view.entry is None and view.next_session is not None:
        text = f"Trigger for {axes.day_label(view.next_session, view.as_of)}"
        yield text, sessions.right, Ink.TRIGGER
    for name, point in (("Exit", view.exit), ("Breakout", view.entry)):
        index = None if point is None else view.index(point)
        if point is not None and index is not None and index >= sessions.first:
            text = f"{name} {axes.day_label(point[0], view.as_of)}"
            yield text, int(sessions.x(index)), Ink.ENTRY


def price_labels(
    ticks: Sequence[float], axis: PriceAxis, left: int, taken: Sequence[Box], sheet: Sheet
) -> Iterator[Label]:
    """The labels of round prices from a column on, where what is there leaves room."""
    places, size = axes.tick_decimals(ticks), sheet.axis_size
    for tick in ticks:
        row = int(axis.y(tick))
        label = Label(f"{tick:,.{places}f}", left, row + round(size * 0.38), size, Ink.MUTED)
        if not any(overlaps(label.box, box, down=3) for box in taken):
            yield label


def date_labels(
    view: ChartView, sessions: SessionAxis, taken: Sequence[Box], sheet: Sheet
) -> list[tuple[int, Label]]:
    """The labelled columns with their labels, in the coarsest unit that has room for enough."""
    most: list[tuple[int, Label]] = []
    for ticks, monthly in axes.date_ticks(view.dates, sessions.first):
        placed = _placed_dates(view, sessions, taken, sheet, ticks, monthly)
        most = max(most, placed, key=len)
        if len(most) >= sheet.fewest_dates:
            break
    return most


def _placed_dates(
    view: ChartView,
    sessions: SessionAxis,
    taken: Sequence[Box],
    sheet: Sheet,
    ticks: Sequence[int],
    monthly: bool,
) -> list[tuple[int, Label]]:
    """The labels of some sessions; if two would touch, the earlier one stays."""
    size, before, boxes = sheet.axis_size, None, list(taken)
    placed: list[tuple[int, Label]] = []
    for index in ticks:
        text = axes.date_label(view.dates[index], before, monthly)
        weight: Weight = "SemiBold" if text[-4:].isdigit() else "Regular"
        column = int(sessions.x(index))
        left = column - text_width(text, size, weight) // 2
        label = Label(text, left, sheet.date_baseline, size, Ink.MUTED, weight)
        inside = left >= sheet.margin // 2 and label.right <= sessions.right
        if inside and not any(overlaps(label.box, box, across=size) for box in boxes):
            boxes.append(label.box)
            placed.append((column, label))
            before = view.dates[index]
    return placed


def volume_label(view: ChartView, left: int, sheet: Sheet) -> Iterator[Label]:
    """The volume of the last bar, if it is known and there is room."""
    last = math.nan if view.volume is None else float(view.volume[-1])
    if not math.isnan(last):
        text, size = f"Vol {amount(last)}", sheet.axis_size
        baseline = sheet.volume[0] + round(size * 0.8)
        label = Label(text, left + sheet.pill_pad, baseline, size, Ink.MUTED)
        if label.right <= sheet.width:
            yield label

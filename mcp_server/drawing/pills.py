"""Pills: the named prices at the right edge, pushed apart so that each can be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcp_server.drawing import lettering
from mcp_server.drawing.canvas import Box
from mcp_server.drawing.label import Label
from mcp_server.drawing.palette import Ink
from mcp_server.drawing.prices import PriceAxis, decimals
from mcp_server.drawing.sheet import Sheet
from mcp_server.drawing.view import ChartView
from store.wire.words import change

PILL_GAP = 3
NAME_GAP = 8
UP, DOWN = " ↑", " ↓"
"""The arrow after the name of a level that is off the axis."""


@dataclass(frozen=True, slots=True)
class Level:
    """A price that gets a pill; a dashed level is also drawn across the chart."""

    name: str
    price: float
    ink: Ink
    dashed: bool


@dataclass(frozen=True, slots=True)
class Pill:
    """A level's label; `y` is the pixel coordinate of the level, None if that is off the axis."""

    level: Level
    name: Label
    price: Label
    box: Box
    y: float | None


def levels(view: ChartView, sheet: Sheet) -> tuple[Level, ...]:
    """The prices that a chart names; of two equal prices the first stands higher."""

    def named(name: str, percent: float) -> str:
        return f"{name} {change(percent)}" if sheet.shares else name

    plan, shown = view.plan, []
    if plan is not None:
        shown.append(Level(named("Target", plan.target_pct), plan.target, Ink.TARGET, True))
    if view.entry is not None:
        shown.append(Level("Entry", view.entry[1], Ink.ENTRY, True))
    if view.trigger is not None and (view.entry is None or sheet.shares):
        shown.append(Level("Trigger", view.trigger, Ink.TRIGGER, True))
    if plan is not None:
        shown.append(Level(named("Stop", plan.stop_pct), plan.stop, Ink.STOP, True))
    if view.exit is not None:
        return (*shown, Level("Exit", view.exit[1], Ink.LAST, False))
    return (*shown, Level("Last", float(view.close[-1]), Ink.LAST, False))


def pill_width(shown: Sequence[Level], sheet: Sheet) -> int:
    """The width of all pills of a chart, pixels: a column of names and one of prices, or one of
    both.

    Names have room for an arrow, so that the width does not depend on the axis.
    """
    size = sheet.axis_size
    names = max(lettering.width(level.name + UP, size) for level in shown)
    prices = max(lettering.width(text, size, "SemiBold") for text in _prices(shown))
    widest = max(names, prices) if sheet.stacked else names + NAME_GAP + prices
    return widest + 2 * sheet.pill_pad


def _prices(shown: Sequence[Level]) -> list[str]:
    places = decimals([level.price for level in shown])
    return [f"{level.price:,.{places}f}" for level in shown]


def _name(level: Level, axis: PriceAxis) -> str:
    if axis.holds(level.price):
        return level.name
    return level.name + (UP if level.price > axis.high else DOWN)


def pills(shown: Sequence[Level], axis: PriceAxis, left: int, sheet: Sheet) -> tuple[Pill, ...]:
    """A pill for each level, highest first, as near to its price as the others allow.

    A level off the axis has its pill at the edge, with an arrow.
    """
    height, right = sheet.pill_height, left + pill_width(shown, sheet)
    rows = sorted(zip(shown, _prices(shown), strict=True), key=lambda row: -row[0].price)
    wanted = [int(axis.y(level.price)) - height // 2 for level, _ in rows]
    tops = spread(wanted, height + PILL_GAP, axis.top, axis.bottom - height)
    return tuple(
        _pill(level, axis, price, (left, top, right, top + height), sheet)
        for (level, price), top in zip(rows, tops, strict=True)
    )


def _pill(level: Level, axis: PriceAxis, price: str, box: Box, sheet: Sheet) -> Pill:
    left, _, right, bottom = box
    size, pad = sheet.axis_size, sheet.pill_pad
    baseline = bottom - round(size * (0.42 if sheet.stacked else 0.46))
    end = right - pad - lettering.width(price, size, "SemiBold")
    above = baseline - size if sheet.stacked else baseline
    return Pill(
        level,
        Label(_name(level, axis), left + pad, above, size, Ink.PAPER),
        Label(price, left + pad if sheet.stacked else end, baseline, size, Ink.PAPER, "SemiBold"),
        box,
        axis.y(level.price) if axis.holds(level.price) else None,
    )


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

"""Pills: the named prices at the right edge, pushed apart so that each can be read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mcp_server.drawing import axes, lettering
from mcp_server.drawing.axes import PriceAxis
from mcp_server.drawing.canvas import Box
from mcp_server.drawing.palette import Ink
from mcp_server.drawing.view import ChartView

PILL_SIZE = 13
"""Letter size in a pill, pixels."""

PILL_HEIGHT = 21
"""Odd, so that a pill can be centred on a row."""

PILL_GAP = 3
PILL_PAD = 9
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
    name: str
    price: str
    box: Box
    y: float | None


def levels(view: ChartView) -> tuple[Level, ...]:
    """The prices that a chart names; of two equal prices the first stands higher."""
    plan = (
        Level("Target", view.target, Ink.TARGET, True),
        Level("Trigger", view.trigger, Ink.TRIGGER, True),
        Level("Stop", view.stop, Ink.STOP, True),
    )
    entry = (Level("Entry", view.entry[1], Ink.ENTRY, False),) if view.entry else ()
    last = Level("Last", float(view.close[-1]), Ink.LAST, False)
    return (*plan[:1], *entry, *plan[1:], last)


def pill_width(shown: Sequence[Level]) -> int:
    """The width of all pills of a chart, pixels: one column of names, one of prices.

    Names have room for an arrow, so that the width does not depend on the axis.
    """
    names = max(lettering.width(level.name + UP, PILL_SIZE) for level in shown)
    prices = max(lettering.width(text, PILL_SIZE, "SemiBold") for text in _prices(shown))
    return names + NAME_GAP + prices + 2 * PILL_PAD


def _prices(shown: Sequence[Level]) -> list[str]:
    places = axes.decimals([level.price for level in shown])
    return [f"{level.price:,.{places}f}" for level in shown]


def _name(level: Level, axis: PriceAxis) -> str:
    if axis.holds(level.price):
        return level.name
    return level.name + (UP if level.price > axis.high else DOWN)


def pills(shown: Sequence[Level], axis: PriceAxis, left: int) -> tuple[Pill, ...]:
    """A pill for each level, highest first, as near to its price as the others allow.

    A level off the axis has its pill at the edge, with an arrow.
    """
    right = left + pill_width(shown)
    rows = sorted(zip(shown, _prices(shown), strict=True), key=lambda row: -row[0].price)
    wanted = [int(axis.y(level.price)) - PILL_HEIGHT // 2 for level, _ in rows]
    tops = spread(wanted, PILL_HEIGHT + PILL_GAP, axis.top, axis.bottom - PILL_HEIGHT)
    return tuple(
        Pill(
            level,
            _name(level, axis),
            price,
            (left, top, right, top + PILL_HEIGHT),
            axis.y(level.price) if axis.holds(level.price) else None,
        )
        for (level, price), top in zip(rows, tops, strict=True)
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

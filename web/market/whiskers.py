"""Whiskers: differences from random entries as dots with two standard errors to either side."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from store.wire.method import Measure

WIDTH, ROW, TOP, LEFT, RIGHT = 560, 34, 20, 150, 20
"""Pixels: the width of the picture, the height of a row, and the margins around the scale."""


@dataclass(frozen=True, slots=True)
class Dot:
    """One group in the picture: its difference from random entries, and two errors either side."""

    name: str
    y: float
    x: float
    low: float
    high: float
    clear: bool
    """Whether it differs from random entries after correction for all lines."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A dot with whiskers for each group on one scale of R."""

    dots: list[Dot]
    zero: float
    ticks: list[tuple[float, str]]
    width: int
    height: float


def whiskers(measures: Iterable[tuple[str, Measure]]) -> Picture | None:
    """A picture of the named differences with an error and enough trades; None without one."""
    shown = [
        (name, measure, found.mean, 2 * found.error)
        for name, measure in measures
        if (found := measure.difference_r) and found.error is not None and not measure.few
    ]
    if not shown:
        return None
    reach = 1.1 * max(abs(mean) + whisker for _, _, mean, whisker in shown) or 1.0
    middle, scale = (LEFT + WIDTH - RIGHT) / 2, (WIDTH - LEFT - RIGHT) / 2 / reach
    dots = [
        Dot(
            name=name,
            y=TOP + ROW * (row + 0.5),
            x=round(middle + scale * mean, 1),
            low=round(middle + scale * (mean - whisker), 1),
            high=round(middle + scale * (mean + whisker), 1),
            clear=measure.distinguishable,
        )
        for row, (name, measure, mean, whisker) in enumerate(shown)
    ]
    ends = [(round(middle + scale * r, 1), f"{r:+.2f}") for r in (-reach / 1.1, reach / 1.1)]
    ticks = [ends[0], (middle, "0"), ends[1]]
    return Picture(dots, middle, ticks, WIDTH, TOP + ROW * len(dots) + 30)

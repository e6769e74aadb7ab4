"""Bars made by hand: ideal patterns between two known lines, and seeded random walks.

Prices are drawn in log price; `UNIT` is about one ATR of the drawn bars.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from screener.nightly.bars import Bars, Floats

UNIT = 0.01
WICK = 0.35 * UNIT
LEAD_IN = 60
HALF_SWING = 8
BASE = 4.0

Point = tuple[int, float]


@dataclass(frozen=True)
class Lines:
    """Two lines from a bar on: their values there and their slopes."""

    start: int
    upper: tuple[float, float]
    lower: tuple[float, float]

    def upper_at(self, bar: int) -> float:
        """The log price of the upper line."""
        return self.upper[0] + self.upper[1] * (bar - self.start)

    def lower_at(self, bar: int) -> float:
        """The log price of the lower line."""
        return self.lower[0] + self.lower[1] * (bar - self.start)

    def middle_at(self, bar: int) -> float:
        """Half way between the lines."""
        return (self.upper_at(bar) + self.lower_at(bar)) / 2

    def zigzag(self, step: int, swings: int, *, at_upper: bool, end_at_upper: bool) -> list[Point]:
        """The closes whose wicks touch the lines in turn, from the start on."""
        points = []
        for swing in range(swings + 1):
            bar = self.start + swing * step
            level = self.upper_at(bar) - WICK if at_upper else self.lower_at(bar) + WICK
            points.append((bar, level))
            at_upper = not at_upper
        # `at_upper` is the side of the touch that would be next.
        return points[:-1] if at_upper == end_at_upper else points


@dataclass(frozen=True)
class Shape:
    """An ideal pattern: bars that touch two known lines and then break one."""

    bars: Bars
    lines: Lines

    def break_bar(self, direction: int) -> int:
        """The first bar that closes beyond a line."""
        closes = np.log(self.bars.close)
        for bar in range(self.lines.start + 1, len(closes)):
            if direction > 0 and closes[bar] > self.lines.upper_at(bar):
                return bar
            if direction < 0 and closes[bar] < self.lines.lower_at(bar):
                return bar
        raise AssertionError("nothing breaks")


def wedge_or_triangle(upper_move: float, lower_move: float, *, approach: int, broken: int) -> Shape:
    """A zigzag between two lines that move by so many widths in 48 bars, then a break.

    Without one (`broken=0`) price drifts half way between the lines until they meet.
    """
    width = 6 * UNIT
    slopes = upper_move * width / (6 * HALF_SWING), lower_move * width / (6 * HALF_SWING)
    lines = Lines(LEAD_IN, (BASE + width, slopes[0]), (BASE, slopes[1]))
    # A rise into the pattern ends at its upper line, and a break starts from the opposite one.
    points = lines.zigzag(HALF_SWING, 6, at_upper=approach > 0, end_at_upper=broken < 0)
    (_, first), (end, last) = points[0], points[-1]
    path = [(0, first - approach * 6 * UNIT), *points]
    if broken:
        path.append((end + 12, last + broken * 12 * UNIT))
    else:
        path += [(bar, lines.middle_at(bar)) for bar in range(end + 4, end + 60)]
    return Shape(bars_along(path), lines)


def squeeze(direction: int) -> Shape:
    """A calm lead-in, a pole of eight bars, a small triangle against it and a breakout along it."""
    tip = LEAD_IN + 8
    width = 4 * UNIT
    slope = width / 48
    top = BASE + (12 * UNIT if direction > 0 else width - 12 * UNIT)
    lines = Lines(tip, (top, -slope), (top - width, slope))
    points = lines.zigzag(3, 4, at_upper=direction > 0, end_at_upper=direction < 0)
    end, last = points[-1]
    path = [(0, BASE - direction * 0.5 * UNIT), (LEAD_IN, BASE), *points]
    path.append((end + 8, last + direction * 10 * UNIT))
    return Shape(bars_along(path), lines)


def bars_along(path: Sequence[Point]) -> Bars:
    """Bars whose closes run straight from point to point, with wicks on both ends."""
    index = np.arange(path[-1][0] + 1)
    close = np.interp(index, [bar for bar, _ in path], [level for _, level in path])
    # An open half way makes sure that only the turning point has the extreme.
    opened = (np.concatenate([close[:1], close[:-1]]) + close) / 2
    return bars_of(
        opened, np.maximum(opened, close) + WICK, np.minimum(opened, close) - WICK, close
    )


def random_walk(seed: int, count: int, drift: float = 0.0) -> Bars:
    """A random walk of daily closes, each with four steps within the day."""
    steps = np.random.default_rng(seed).normal(drift / 4, 0.01, (count, 4))
    path = BASE + np.cumsum(steps).reshape(count, 4)
    return bars_of(path[:, 0], path.max(axis=1), path.min(axis=1), path[:, -1])


def bars_of(opened: Floats, high: Floats, low: Floats, close: Floats) -> Bars:
    """Daily bars from log prices."""
    date = np.arange(len(close), dtype=np.int32) + 10_000
    volume = np.ones(len(close))
    return Bars(date, np.exp(opened), np.exp(high), np.exp(low), np.exp(close), volume)


def joined(*parts: Bars) -> Bars:
    """Bars one after the other, each part scaled to open where the last one closed."""
    columns: list[list[Floats]] = [[] for _ in range(5)]
    factor = 1.0
    for part in parts:
        if columns[3]:
            factor = columns[3][-1][-1] / part.open[0]
        prices = (part.open * factor, part.high * factor, part.low * factor, part.close * factor)
        for column, values in zip(columns, (*prices, part.volume), strict=True):
            column.append(values)
    series = [np.concatenate(column) for column in columns]
    return Bars(np.arange(len(series[0]), dtype=np.int32) + 10_000, *series)

"""Figures: the pictures of measures, as the places of what is drawn.

A histogram is a distribution of R as bars, and the same counts in words. Error bars are differences
from random entries as dots with two standard errors to either side.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from store.wire.method import Distribution, Measure
from store.wire.words import half_units

WIDTH = 560
"""Pixels of every picture."""

HEIGHT, TOP, BOTTOM = 230, 22, 36
"""Pixels of a histogram, and its margins above and below the bars."""

GAP = 4
"""Pixels between two bars."""

ROW, FIRST, LEFT, RIGHT, AXIS = 34, 20, 150, 20, 30
"""Pixels of a row with a dot, and the margins around all of them."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bin: its count, its share of all, and its place."""

    label: str
    count: int
    share: float
    """Percent."""
    x: float
    y: float
    width: float
    height: float
    gained: bool
    """Whether its trades ended above the entry."""

    @property
    def short(self) -> str:
        """The count as it fits above the bar."""
        thousands = self.count / 1000
        if thousands < 1:
            return str(self.count)
        return f"{thousands:.0f}k" if thousands >= 10 else f"{thousands:.1f}k"

    @property
    def middle(self) -> float:
        """The middle of the bar."""
        return self.x + self.width / 2


@dataclass(frozen=True, slots=True)
class Histogram:
    """The bars with a trade from the lowest R to the highest, and the edges to write below."""

    bars: list[Bar]
    ticks: list[tuple[float, str]]
    trades: int
    width: int = WIDTH
    height: int = HEIGHT
    floor: int = HEIGHT - BOTTOM

    @property
    def words(self) -> str:
        """The counts in one sentence."""
        return "; ".join(f"{bar.label}: {bar.count:,}" for bar in self.bars) + "."


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
class ErrorBars:
    """A dot with its error bar for each group on one scale of R."""

    dots: list[Dot]
    zero: float
    ticks: list[tuple[float, str]]
    height: float
    width: int = WIDTH


def histogram(found: Distribution) -> Histogram | None:
    """The picture of a distribution; None without a trade."""
    if not found.trades:
        return None
    step, most = WIDTH / len(found.counts), max(found.counts)
    bars = []
    for place, count in enumerate(found.counts):
        if not count:
            continue
        height = round((HEIGHT - BOTTOM - TOP) * count / most, 1)
        bars.append(
            Bar(
                label=_label(found.edges, place),
                count=count,
                share=100 * count / found.trades,
                x=round(place * step + GAP / 2, 1),
                y=round(HEIGHT - BOTTOM - height, 1),
                width=round(step - GAP, 1),
                height=height,
                gained=place > 0 and found.edges[place - 1] >= 0,
            )
        )
    ticks = [
        (round((place + 1) * step, 1), half_units(edge))
        for place, edge in enumerate(found.edges)
        if edge == int(edge)
    ]
    return Histogram(bars, ticks, found.trades)


def error_bars(measures: Iterable[tuple[str, Measure]]) -> ErrorBars | None:
    """A picture of the named differences with an error and enough trades; None without one."""
    drawn = [
        (name, measure, found.mean, 2 * found.error)
        for name, measure in measures
        if (found := measure.difference_r) and found.error is not None and not measure.few
    ]
    if not drawn:
        return None
    reach = 1.1 * max(abs(mean) + reached for _, _, mean, reached in drawn) or 1.0
    middle, scale = (LEFT + WIDTH - RIGHT) / 2, (WIDTH - LEFT - RIGHT) / 2 / reach
    dots = [
        Dot(
            name=name,
            y=FIRST + ROW * (row + 0.5),
            x=round(middle + scale * mean, 1),
            low=round(middle + scale * (mean - reached), 1),
            high=round(middle + scale * (mean + reached), 1),
            clear=measure.distinguishable,
        )
        for row, (name, measure, mean, reached) in enumerate(drawn)
    ]
    ends = [(round(middle + scale * r, 1), f"{r:+.2f}") for r in (-reach / 1.1, reach / 1.1)]
    ticks = [ends[0], (middle, "0"), ends[1]]
    return ErrorBars(dots, middle, ticks, FIRST + ROW * len(dots) + AXIS)


def _label(edges: list[float], place: int) -> str:
    if place == 0:
        return f"{half_units(edges[0])} R or less"
    if place == len(edges):
        return f"over {half_units(edges[-1])} R"
    return f"over {half_units(edges[place - 1])} to {half_units(edges[place])} R"

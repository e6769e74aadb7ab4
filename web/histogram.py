"""Histogram: a distribution of R as bars of a picture, and the same counts in words."""

from __future__ import annotations

from dataclasses import dataclass

from store.wire.method import Distribution
from store.wire.words import half_units

WIDTH, HEIGHT, TOP, BOTTOM = 560, 230, 22, 36
"""Pixels of the picture, and its margins above and below the bars."""

GAP = 4
"""Pixels between two bars."""


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
    """The bars from the lowest R to the highest, and the edges to write below."""

    bars: list[Bar]
    ticks: list[tuple[float, str]]
    trades: int
    width: int = WIDTH
    height: int = HEIGHT
    floor: int = HEIGHT - BOTTOM

    @classmethod
    def of(cls, found: Distribution) -> Histogram | None:
        """The picture of a distribution; None without a trade."""
        if not found.trades:
            return None
        step, most = WIDTH / len(found.counts), max(found.counts)
        room = HEIGHT - BOTTOM - TOP
        bars = []
        for place, count in enumerate(found.counts):
            height = round(room * count / most, 1)
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
        return cls(bars, ticks, found.trades)

    @property
    def filled(self) -> list[Bar]:
        """The bars with a trade."""
        return [bar for bar in self.bars if bar.count]

    @property
    def words(self) -> str:
        """The counts in one sentence."""
        return "; ".join(f"{bar.label}: {bar.count:,}" for bar in self.filled) + "."


def _label(edges: list[float], place: int) -> str:
    if place == 0:
        return f"{half_units(edges[0])} R or less"
    if place == len(edges):
        return f"over {half_units(edges[-1])} R"
    return f"over {half_units(edges[place - 1])} to {half_units(edges[place])} R"

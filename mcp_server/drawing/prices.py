"""Prices: the log price axis, which prices it holds, and the round ones that are labelled."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

BESIDE_LEVELS, BESIDE_ALL = 0.58, 0.4
"""Least share of the height that the pattern and what followed have: beside the levels, and beside
levels and the bars before.
"""

STEPS = (1.0, 2.0, 2.5, 5.0)
LADDERS = (
    (1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0),
    (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0),
    (1.0, 1.5, 2.0, 3.0, 4.0, 6.0),
    (1.0, 2.0, 5.0),
    (1.0, 3.0),
    (1.0,),
)
"""Leading digits of price labels over a wide range, densest first."""


@dataclass(frozen=True, slots=True)
class PriceAxis:
    """Log prices from `low` (at pixel `bottom`) to `high` (at pixel `top`)."""

    top: int
    bottom: int
    low: float
    high: float

    def y(self, price: float) -> float:
        """The pixel coordinate of a price."""
        share = math.log(self.high / price) / math.log(self.high / self.low)
        return self.top + share * (self.bottom - self.top)

    def holds(self, price: float) -> bool:
        """Whether a price lies on the axis."""
        return self.low <= price <= self.high


def price_axis(
    core: Sequence[float], around: Sequence[float], named: Sequence[float], top: int, bottom: int
) -> PriceAxis:
    """An axis that holds all core prices, as many named ones as fit, and what fits of the others.

    Named prices are added nearest first. One that would leave the core less than its share of the
    height stays off the axis. So do prices around it: their candles are cut at the edge.
    """
    low, high = math.log(min(core)), math.log(max(core))
    if high - low < 0.01:
        low, high = low - 0.005, high + 0.005
    span = high - low
    room = span / BESIDE_LEVELS
    for level in sorted((math.log(p) for p in named), key=lambda at: max(low - at, at - high)):
        if max(high, level) - min(low, level) <= room:
            low, high = min(low, level), max(high, level)
    room = span / BESIDE_ALL
    over = max(0.0, math.log(max(around)) - high)
    under = max(0.0, low - math.log(min(around)))
    share = min(1.0, (room - (high - low)) / max(over + under, 1e-12))
    low, high = low - under * share, high + over * share
    pad = (high - low) * 0.05
    return PriceAxis(top, bottom, math.exp(low - pad), math.exp(high + pad))


def price_ticks(axis: PriceAxis, gap: int) -> tuple[float, ...]:
    """Round prices to label, in rising order, at least `gap` pixels apart."""
    fitting = [t for t in _tick_choices(axis) if _smallest_gap(axis, t) >= gap]
    return max(fitting, key=lambda ticks: (min(len(ticks), 9), -len(ticks)), default=())


def _tick_choices(axis: PriceAxis) -> Iterator[tuple[float, ...]]:
    span = axis.high - axis.low
    top = math.floor(math.log10(span))
    for power in range(top, top - 3, -1):
        for step in reversed(STEPS):
            size = step * 10.0**power
            first, last = math.ceil(axis.low / size), math.floor(axis.high / size)
            yield tuple(_rounded(n * size) for n in range(first, min(last, first + 30) + 1))
    if axis.high > 3 * axis.low:
        powers = range(math.floor(math.log10(axis.low)), math.ceil(math.log10(axis.high)) + 1)
        for ladder in LADDERS:
            ticks = (_rounded(digit * 10.0**power) for power in powers for digit in ladder)
            yield tuple(tick for tick in ticks if axis.holds(tick))


def _rounded(price: float) -> float:
    return float(f"{price:.9g}")


def _smallest_gap(axis: PriceAxis, ticks: Sequence[float]) -> float:
    rows = [axis.y(tick) for tick in ticks]
    return min((a - b for a, b in pairwise(rows)), default=math.inf)


def decimals(prices: Sequence[float]) -> int:
    """Decimals for the smallest price: two from one dollar up, else five significant digits."""
    smallest = min(prices)
    return 2 if smallest >= 1 else 4 - math.floor(math.log10(smallest))


def tick_decimals(ticks: Sequence[float]) -> int:
    """The fewest decimals that write every tick exactly."""
    written = (f"{Decimal(f'{tick:.9g}'):f}".partition(".")[2] for tick in ticks)
    return max(map(len, written), default=0)

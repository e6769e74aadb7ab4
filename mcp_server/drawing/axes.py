"""Axes: the positions of sessions and prices, how many bars are shown, and where labels stand.

Coordinates are continuous pixels, y downward: pixel row r covers y in [r, r + 1).
"""

from __future__ import annotations

import datetime as dt
import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from mcp_server.drawing.view import Point

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

CONTEXT = 0.6
"""Bars shown before a pattern, as a share of the bars from its start to the last one."""

FEWEST_BARS, MOST_BARS = 60, 260
"""The fewest bars shown, if there are that many, and the most, unless the pattern is longer."""

WIDEST_SLOT, NARROWEST_SLOT = 44, 3
"""Most and fewest pixels from one session to the next."""

FEWEST_LABELS = 6
"""The date axis uses the coarsest unit of the calendar that gives this many labels."""

PRICE_GAP = 46
"""Smallest distance between two price labels, pixels."""

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
class SessionAxis:
    """Sessions at even pixel steps: `first` is the index of the leftmost bar shown."""

    left: int
    right: int
    slot: int
    first: int

    def column(self, index: int) -> int:
        """The pixel column in the middle of a bar."""
        return self.left + (index - self.first) * self.slot + self.slot // 2

    def x(self, index: float) -> float:
        """The pixel coordinate of a session index, which may lie between or beyond bars."""
        return self.left + (index - self.first) * self.slot + self.slot // 2 + 0.5

    def index(self, x: float) -> float:
        """The session index at a pixel coordinate."""
        return (x - 0.5 - self.slot // 2 - self.left) / self.slot + self.first


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


@dataclass(frozen=True, slots=True)
class Ray:
    """A trend line over the session index: straight in log price."""

    start: float
    end: float
    log_start: float
    slope: float

    def price(self, index: float) -> float:
        """The line's price at a session index."""
        return math.exp(min(700.0, max(-700.0, self.log_start + self.slope * (index - self.start))))


def ray(dates: Sequence[dt.date], start: Point, end: Point) -> Ray:
    """The line through two dated points, by the index of their sessions."""
    first, last = session_index(dates, start[0]), session_index(dates, end[0])
    if last <= first:
        return Ray(first, first, math.log(start[1]), 0.0)
    slope = math.log(end[1] / start[1]) / (last - first)
    return Ray(first, last, math.log(start[1]), slope)


def session_index(dates: Sequence[dt.date], date: dt.date) -> float:
    """The index of a date among sessions; for a date without a bar, estimated by calendar days."""
    at = bisect_left(dates, date)
    if at < len(dates) and dates[at] == date:
        return float(at)
    if 0 < at < len(dates):
        return at - 1 + (date - dates[at - 1]).days / (dates[at] - dates[at - 1]).days
    nearest = 0 if at == 0 else len(dates) - 1
    days = (dates[-1] - dates[0]).days
    pace = (len(dates) - 1) / days if days else 5 / 7
    return nearest + (date - dates[nearest]).days * pace


def window(pattern_bars: int, available: int, width: int) -> tuple[int, int, int]:
    """How many bars to show, the slot width in pixels, and how many future sessions stay free.

    Shown are the bars from the pattern's start to the last one, and 0.6 times as many before them:
    at least 60, at most 260 unless the pattern is longer. Slots are whole pixels, so that candles
    are evenly spaced; the pixels left over show more bars before the pattern.
    """
    wanted = max(FEWEST_BARS, min(MOST_BARS, round(pattern_bars * (1 + CONTEXT))), pattern_bars + 2)
    wanted = min(wanted, available)
    ahead = min(15, max(3, round(wanted * 0.06)))
    slot = max(NARROWEST_SLOT, min(WIDEST_SLOT, width // (wanted + ahead)))
    return min(available, width // slot - ahead), slot, ahead


def price_axis(core: Sequence[float], wanted: Sequence[float], top: int, bottom: int) -> PriceAxis:
    """An axis that holds all core prices, and as many wanted ones as fit.

    Wanted prices are added nearest first. One that would squeeze the core below 45 % of the height
    stays off the axis.
    """
    low, high = math.log(min(core)), math.log(max(core))
    if high - low < 0.01:
        low, high = low - 0.005, high + 0.005
    room = (high - low) / 0.45
    for level in sorted((math.log(p) for p in wanted), key=lambda at: max(low - at, at - high)):
        if max(high, level) - min(low, level) <= room:
            low, high = min(low, level), max(high, level)
    pad = (high - low) * 0.05
    return PriceAxis(top, bottom, math.exp(low - pad), math.exp(high + pad))


def price_ticks(axis: PriceAxis) -> tuple[float, ...]:
    """Round prices to label, in rising order, at least PRICE_GAP pixels apart."""
    fitting = [t for t in _tick_choices(axis) if _smallest_gap(axis, t) >= PRICE_GAP]
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
    return max((len(f"{t:.14f}".rstrip("0").partition(".")[2]) for t in ticks), default=0)


_UNITS: tuple[Callable[[dt.date], object], ...] = (
    lambda date: date.year,
    lambda date: (date.year, (date.month - 1) // 3),
    lambda date: (date.year, date.month),
    lambda date: (date.toordinal() - 1) // 14,
    lambda date: (date.toordinal() - 1) // 7,
    lambda date: date,
)
"""Years, quarters, months, fortnights and weeks from Monday, days."""

_MONTHLY = 3
"""How many of the units, from the first, consist of whole months."""


def date_ticks(dates: Sequence[dt.date], first: int) -> list[tuple[int, str]]:
    """The sessions from index `first` on that open a unit of the calendar, with their labels.

    The unit is the coarsest that gives enough labels. The first label of a new year names the year.
    """
    ticks, monthly = _date_choice(dates, first)
    years = [dates[max(0, first - 1)].year, *(dates[i].year for i in ticks)]
    return [
        (i, _date_label(dates[i], monthly, year != before))
        for i, (before, year) in zip(ticks, pairwise(years), strict=True)
    ]


def _date_choice(dates: Sequence[dt.date], first: int) -> tuple[list[int], bool]:
    """The sessions that open a unit, and whether the unit consists of whole months."""
    ticks: list[int] = []
    start = max(0, first - 1)
    for at, unit in enumerate(_UNITS):
        units = [unit(date) for date in dates[start:]]
        ticks = [start + i for i in range(1, len(units)) if units[i] != units[i - 1]]
        if len(ticks) >= FEWEST_LABELS:
            return ticks, at < _MONTHLY
    return ticks, False


def _date_label(date: dt.date, monthly: bool, new_year: bool) -> str:
    if monthly:
        return str(date.year) if new_year else MONTHS[date.month - 1]
    return f"{day_label(date)}, {date.year}" if new_year else day_label(date)


def day_label(date: dt.date) -> str:
    """A session within the year, as people write it: `Nov 12`."""
    return f"{MONTHS[date.month - 1]} {date.day}"

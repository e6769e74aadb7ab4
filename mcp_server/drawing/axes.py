"""Axes: which sessions and prices a chart shows and where, which are labelled, and the candles.

Coordinates are continuous pixels, y downward: pixel row r covers y in [r, r + 1).
"""

from __future__ import annotations

import datetime as dt
import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from mcp_server.drawing.canvas import Floats
from mcp_server.drawing.sheet import Sheet
from mcp_server.drawing.view import ChartView

LINGER = 8
"""Sessions after a breakout that always have a candle each."""

LATER = 0.8
"""Candles of the sessions after that, at most, as a share of those before."""

MIN_LATER = 20
"""So many candles they may have however short the pattern is."""

COARSEST = 18
"""The fewest candles to which the later sessions are packed further to make room."""

PACKS = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000)
"""Sessions that one candle may hold."""

AHEAD = 0.1
"""Room after the last candle, as a share of the candles."""

BESIDE_LEVELS, BESIDE_ALL = 0.58, 0.4
"""Least share of the height that the pattern and what followed have: beside the levels, and beside
levels and the bars before.
"""

PRICE_STEPS = (5.0, 2.5, 2.0, 1.0)
LADDERS = (
    (1.0, 1.2, 1.4, 1.6, 1.8, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0),
    (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0),
    (1.0, 1.5, 2.0, 3.0, 4.0, 6.0),
    (1.0, 2.0, 5.0),
    (1.0, 3.0),
    (1.0,),
)
"""Leading digits of price labels over a wide range, densest first."""

OUTLIER = 5.0
"""The volume scale ends at so many medians; longer columns are cut."""

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")

UNITS: tuple[Callable[[dt.date], object], ...] = (
    lambda date: date.year,
    lambda date: (date.year, (date.month - 1) // 3),
    lambda date: (date.year, date.month),
    lambda date: (date.toordinal() - 1) // 14,
    lambda date: (date.toordinal() - 1) // 7,
    lambda date: date,
)
"""Years, quarters, months, fortnights and weeks from Monday, days."""

MONTHLY = 3
"""How many of the units, from the first, consist of whole months."""


@dataclass(frozen=True, slots=True)
class SessionAxis:
    """Candles at even pixel steps, one for the bars between two neighbours of `edges`.

    The first candles hold `pack` sessions each. From the candle `fold` on they hold `folded`;
    without a fold, that is the number of candles.
    """

    left: int
    right: int
    slot: int
    edges: tuple[int, ...]
    fold: int
    pack: int = 1
    folded: int = 1

    @property
    def first(self) -> int:
        """The index of the first bar shown."""
        return self.edges[0]

    @property
    def candles(self) -> int:
        """How many candles there are."""
        return len(self.edges) - 1

    @property
    def is_folded(self) -> bool:
        """Whether later candles hold more sessions than earlier ones."""
        return self.fold < self.candles

    @property
    def fold_column(self) -> int:
        """The pixel column at which the fold begins."""
        return self.left + self.fold * self.slot

    def column(self, candle: int) -> int:
        """The pixel column in the middle of a candle."""
        return self.left + candle * self.slot + self.slot // 2

    def x(self, index: float) -> float:
        """The pixel coordinate of a session index, which may lie between or beyond bars."""
        candle, begins, width = self._stretch(bisect_right(self.edges, index + 0.5) - 1)
        place = candle + (index + 0.5 - begins) / width - 0.5
        return self.left + place * self.slot + self.slot // 2 + 0.5

    def index(self, x: float) -> float:
        """The session index at a pixel coordinate."""
        place = (x - 0.5 - self.slot // 2 - self.left) / self.slot + 0.5
        candle, begins, width = self._stretch(math.floor(place))
        return begins + (place - candle) * width - 0.5

    def _stretch(self, candle: int) -> tuple[int, int, int]:
        """A candle, the session it begins with, and how many a slot holds there; what is before the
        first and after the last candle counts from these.
        """
        if candle < 0:
            return 0, self.edges[0], self.pack
        if candle >= self.candles:
            return self.candles, self.edges[-1], 1 if self.is_folded else self.pack
        return candle, self.edges[candle], self.edges[candle + 1] - self.edges[candle]


def session_axis(
    count: int, start: int, breakout: int | None, sheet: Sheet, right: int
) -> SessionAxis:
    """The axis for so many bars that shows all from the pattern's start to the last one.

    Before the pattern it shows a share of as many as the pattern has, and more if there is room.
    When a breakout is long ago, later sessions share candles, so that the pattern keeps its size.
    """
    room = right - sheet.margin
    turn = count if breakout is None else min(count, breakout + 1 + LINGER)
    pack, folded = _packs(max(1, turn - start), count - turn, room // sheet.narrowest)
    if pack >= folded:
        turn, folded = count, pack
    before, later = math.ceil(max(1, turn - start) / pack), math.ceil((count - turn) / folded)
    wanted = max(sheet.fewest_bars // pack, round(before * (1 + sheet.context)) + later)
    wanted = min(wanted, math.ceil(turn / pack) + later)
    slot = max(sheet.narrowest, min(sheet.widest, room // (wanted + _ahead(wanted))))
    shown = max(room // slot - _ahead(wanted), before + later) - later
    first = max(0, turn - shown * pack)
    near = [*range(turn, first, -pack), first][::-1]
    far = [*range(count, turn, -folded)][::-1]
    return SessionAxis(sheet.margin, right, slot, (*near, *far), len(near) - 1, pack, folded)


def _packs(before: int, after: int, slots: int) -> tuple[int, int]:
    """How many sessions a candle holds before and after the fold, as few as fit into the slots.

    Candles after the fold are packed first, down to `COARSEST` of them, then those before it.
    """
    most = max(MIN_LATER, round(before * LATER))
    least = next(pack for pack in (*PACKS, after) if after <= pack * most)
    for pack in PACKS:
        for folded in (least, *(size for size in PACKS if size > least)):
            if folded > least and after < COARSEST * folded:
                break
            candles = math.ceil(before / pack) + math.ceil(after / max(pack, folded))
            if candles + _ahead(candles) <= slots:
                return pack, max(pack, folded)
    return PACKS[-1], PACKS[-1]


def _ahead(candles: int) -> int:
    """How many slots stay free after the last candle."""
    return min(20, max(3, round(candles * AHEAD)))


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

    def fits(ticks: tuple[float, ...]) -> bool:
        return all(a - b >= gap for a, b in pairwise(map(axis.y, ticks)))

    fitting = filter(fits, _tick_choices(axis))
    return max(fitting, key=lambda ticks: (min(len(ticks), 9), -len(ticks)), default=())


def _tick_choices(axis: PriceAxis) -> Iterator[tuple[float, ...]]:
    top = math.floor(math.log10(axis.high - axis.low))
    for power in range(top, top - 3, -1):
        for step in PRICE_STEPS:
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


def tick_decimals(ticks: Sequence[float]) -> int:
    """The fewest decimals that write every tick exactly."""
    digits = (f"{Decimal(f'{tick:.9g}'):f}".partition(".")[2] for tick in ticks)
    return max(map(len, digits), default=0)


def date_ticks(dates: Sequence[dt.date], first: int) -> Iterator[tuple[list[int], bool]]:
    """The sessions from index `first` on that open a unit of the calendar, for each unit from years
    to days, and whether the unit consists of whole months.
    """
    start = max(0, first - 1)
    for at, unit in enumerate(UNITS):
        pairs = enumerate(pairwise(map(unit, dates[start:])), start + 1)
        yield [index for index, (before, after) in pairs if after != before], at < MONTHLY


def date_label(date: dt.date, before: dt.date | None, monthly: bool) -> str:
    """What stands below a session; the first label of a year names it."""
    new_year = before is None or before.year != date.year
    label = MONTHS[date.month - 1] if monthly else day_label(date)
    if not new_year:
        return label
    if monthly and date.month == 1 and before is not None:
        return str(date.year)
    return f"{label} {date.year}" if monthly else f"{label}, {date.year}"


def day_label(date: dt.date, today: dt.date | None = None) -> str:
    """A session as people write it: `Nov 12`, with its year if that is not the one of today."""
    label = f"{MONTHS[date.month - 1]} {date.day}"
    return label if today is None or date.year == today.year else f"{label}, {date.year}"


@dataclass(frozen=True, slots=True, eq=False)
class Candles:
    """One value for each candle of a session axis. Volume is the mean of its sessions, NaN where it
    is not known; None if it is known of none.
    """

    open: Floats
    high: Floats
    low: Floats
    close: Floats
    volume: Floats | None

    @classmethod
    def of(cls, view: ChartView, sessions: SessionAxis) -> Candles:
        """The candles of a view on an axis."""
        starts, ends = np.array(sessions.edges[:-1]), np.array(sessions.edges[1:])
        return cls(
            open=np.array(view.open, np.float64)[starts],
            high=np.maximum.reduceat(np.array(view.high, np.float64), starts),
            low=np.minimum.reduceat(np.array(view.low, np.float64), starts),
            close=np.array(view.close, np.float64)[ends - 1],
            volume=_mean_volume(view, starts, ends),
        )

    @property
    def busiest(self) -> float:
        """The volume at the top of its scale: the largest, unless it would flatten the rest."""
        if self.volume is None:
            return 0.0
        known = self.volume[self.volume > 0]
        return float(min(known.max(), OUTLIER * np.median(known)))

    @property
    def rising(self) -> npt.NDArray[np.bool_]:
        """Whether each closes at its open or above."""
        return self.close >= self.open


def _mean_volume(
    view: ChartView, starts: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> Floats | None:
    if view.volume is None:
        return None
    known = np.array(view.volume, np.float64)
    mean = np.add.reduceat(np.where(known > 0, known, 0), starts) / (ends - starts)
    mean[~np.logical_or.reduceat(known >= 0, starts)] = np.nan
    return mean if np.nanmax(mean, initial=0) > 0 else None

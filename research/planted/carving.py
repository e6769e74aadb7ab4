"""Forcing a market path through the turns of a drawn shape, and joining it to a market.

A shape counts bars from its own first turn, and its prices are logarithms.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from research.planted.prices import (
    RANGE_OF_VOLATILITY,
    Candles,
    Rng,
    bridge,
    draw_candles,
    garch,
    trends,
)
from screener.nightly.bars import Floats

NOISES = (0.1, 0.2, 0.3)  # sd of a contact's distance from its line, in mean true ranges
MAX_MISS = 0.12  # of the width where it lies: a worse contact would not be called one
TIDY = 2.0  # standard deviations; a contact that misses by more is drawn by no chartist
AIR = 0.1  # mean true ranges between a line and the closes inside it
POKE = 0.3  # mean true ranges by which a wick may pass a line


@dataclass(frozen=True, slots=True)
class Lines:
    """An upper and a lower line: log prices at bar `start`, and slopes per bar."""

    start: int
    upper: float
    upper_slope: float
    lower: float
    lower_slope: float

    def at(self, bars: npt.ArrayLike) -> tuple[Floats, Floats]:
        """The log prices of the upper and the lower line at bar numbers."""
        after = np.asarray(bars, dtype=np.float64) - self.start
        return self.upper + self.upper_slope * after, self.lower + self.lower_slope * after

    def width(self, bars: npt.ArrayLike) -> Floats:
        """The distance of the lines in log price at bar numbers."""
        upper, lower = self.at(bars)
        return np.asarray(upper - lower)

    def moved(self, bars: int, level: float) -> Lines:
        """The same lines `bars` later and `level` higher."""
        upper, lower = self.upper + level, self.lower + level
        return Lines(self.start + bars, upper, self.upper_slope, lower, self.lower_slope)


@dataclass(frozen=True, slots=True)
class Turn:
    """Where price turns: a bar, a side (+1 a top, -1 a bottom, 0 either) and a log price.

    A `contact` touches the line of its side; its bar's wick ends exactly at the price.
    """

    bar: int
    side: int
    level: float
    contact: bool


@dataclass(frozen=True, slots=True, eq=False)
class CarvedShape:
    """What price is forced through: turns, and the band [bottom, top] that closes keep to.

    `calm` is the volatility of each bar as a share of the market's, `rough` that of the closes
    around a straight leg as a share of `calm`, and `finish` the last close.
    """

    turns: tuple[Turn, ...]
    top: Floats
    bottom: Floats
    calm: Floats
    rough: float
    finish: float

    def closes(self, rng: Rng, unit: float) -> Floats:
        """Closes from the first turn to the last bar, bridged from turn to turn."""
        air = AIR * unit * self.calm
        top, bottom = self.top - air, self.bottom + air
        pins = [(turn.bar, self._close_at(rng, turn, unit)) for turn in self.turns]
        pins.append((len(self.calm) - 1, self.finish))
        closes = np.full(len(self.calm), pins[0][1])
        for (left, value), (right, target) in pairwise(pins):
            leg = slice(left + 1, right + 1)
            volatility = self.rough * unit / RANGE_OF_VOLATILITY * self.calm[leg]
            closes[leg] = value + bridge(rng, volatility, target - value)
        return fold(closes, bottom, top)

    def _close_at(self, rng: Rng, turn: Turn, unit: float) -> float:
        """The close of a turn's bar, a little inside its extreme."""
        back = rng.uniform(0.1, 0.5) * unit * float(self.calm[turn.bar])
        return float(np.clip(turn.level, self.bottom[turn.bar], self.top[turn.bar])) - (
            turn.side * back
        )


def fold(values: Floats, bottom: Floats, top: Floats) -> Floats:
    """Values beyond a bound, reflected to its other side, and cut where that is not enough."""
    inside = np.where(values > top, 2 * top - values, values)
    inside = np.where(inside < bottom, 2 * bottom - inside, inside)
    return np.clip(inside, bottom, top)


def turn_bars(rng: Rng, weights: Floats, bars: int, shortest: int) -> npt.NDArray[np.int64]:
    """Bar numbers of turns: gaps near to proportional to the weights, each at least `shortest`.

    The last weight is that of the gap from the last turn to bar `bars`, of which half may do.
    """
    share = weights * np.exp(rng.normal(0, 0.25, len(weights)))
    least = np.full(len(share), float(shortest))
    least[-1] = shortest / 2 + 1
    edges = np.cumsum(least + (bars - least.sum()) * share / share.sum())
    return np.concatenate([[0], np.rint(edges[:-1]).astype(np.int64)])


def touch(
    rng: Rng, lines: Lines, bars: npt.NDArray[np.int64], first: int, miss: float
) -> list[Turn]:
    """Alternating contacts at the bars, each off its line by about `miss` in log price."""
    turns = []
    for place, bar in enumerate(bars):
        side = first if place % 2 == 0 else -first
        upper, lower = lines.at(bar)
        most = min(TIDY * miss, MAX_MISS * float(upper - lower))
        off = float(np.clip(rng.normal(0, miss), -most, most))
        turns.append(Turn(int(bar), side, float(upper if side > 0 else lower) + off, True))
    return turns


def band(lines: Lines, turns: list[Turn], bars: int) -> tuple[Floats, Floats]:
    """The bottom and top for `bars` closes: the lines, or the contacts where they fall short."""
    when = np.arange(bars)
    sides = []
    for side, line in zip((-1, 1), reversed(lines.at(when)), strict=True):
        met = [turn for turn in turns if turn.side == side and turn.contact]
        off = [min(0.0, side * (turn.level - float(line[turn.bar]))) for turn in met]
        short = np.interp(when, [turn.bar for turn in met], off) if met else np.zeros(bars)
        sides.append(line + side * short)
    return sides[0], sides[1]


@dataclass(frozen=True, slots=True, eq=False)
class Carved:
    """A whole series: its candles, each day's activity, and the bar of the shape's first turn."""

    candles: Candles
    busy: Floats
    start: int

    def unit(self, bars: int, pole: int) -> float:
        """The mean true range around the start of a shape of so many bars, or before its pole.

        `pole` is the number of the pole's bars, 0 for a shape without one.
        """
        base = self.start - pole
        until = base if pole else base + bars // 3
        return float(self.candles.true_range()[base - 20 : until].mean())


def carve(rng: Rng, shape: CarvedShape, before: Floats, after: Floats, unit: float) -> Carved:
    """The shape between a lead-in and an aftermath, with candles that respect its band.

    `before` holds the returns that lead to the first turn's close, `after` those that follow the
    last bar; both join without a jump. `unit` is the mean true range in log price.
    """
    inside = shape.closes(rng, unit)
    lead = inside[0] - np.cumsum(before[::-1])[::-1]
    closes = np.concatenate([lead, inside, inside[-1] + np.cumsum(after)])
    start, end = len(before), len(before) + len(inside)
    calm, top, bottom = np.ones(len(closes)), np.full(len(closes), np.inf), np.empty(len(closes))
    calm[start:end], top[start:end] = shape.calm, shape.top
    bottom[:] = -np.inf
    bottom[start:end] = shape.bottom
    candles = draw_candles(rng, closes, unit / RANGE_OF_VOLATILITY * calm, top, bottom)
    _trim_wicks(rng, candles, top, bottom, unit * calm)
    for turn in shape.turns:
        if turn.contact:
            side = candles.high if turn.side > 0 else candles.low
            side[start + turn.bar] = turn.level
    return Carved(candles, calm, start)


def _trim_wicks(rng: Rng, candles: Candles, top: Floats, bottom: Floats, unit: Floats) -> None:
    """Cut wicks that would pass the band: most end short of it, one in ten pokes out a little."""
    days = len(unit)
    for side, wick, bound in ((1, candles.high, top), (-1, candles.low, bottom)):
        poke = np.where(rng.random(days) < 0.1, POKE, -POKE) * rng.random(days) * unit
        body = side * np.maximum(side * candles.open, side * candles.close)
        cut = np.minimum(side * wick, np.maximum(side * bound + poke, side * body))
        wick[:] = side * cut


def wander(rng: Rng, days: int, volatility: float) -> Floats:
    """Returns of a market left to itself, with trends that come and go."""
    return garch(rng, days, volatility)[0] + trends(rng, days, volatility)

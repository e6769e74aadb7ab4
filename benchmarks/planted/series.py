"""Series: daily bars around a path of closes, in log price and in units of one ATR.

This module knows nothing of patterns, only paths of closes and lines that bars must stay between.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nightly.bars import Bars, Floats

Rng = np.random.Generator

STEP = 0.65
"""Standard deviation of daily log moves outside shapes, in units; with wicks, ranges are 1 unit."""
INNER_STEP = 0.45
"""The same around a leg inside a shape; it is smaller because the leg's slope adds to the moves."""
WICK = 0.25
"""Mean of an (exponential) wick, in units."""
GAP = 0.12
"""Standard deviation of the open from the close before it, in units."""
TAILS = 5
"""Degrees of freedom of Student's t for the moves outside of shapes."""


@dataclass(frozen=True, slots=True)
class Lines:
    """Two straight lines in log price from a bar on: their values there and slopes per bar."""

    start: int
    upper: float
    upper_slope: float
    lower: float
    lower_slope: float

    def at(self, bars: Floats | int) -> tuple[Floats, Floats]:
        """The upper and the lower line at bars."""
        after = np.asarray(bars, float) - self.start
        return self.upper + self.upper_slope * after, self.lower + self.lower_slope * after

    def moved(self, bars: int, by: float) -> Lines:
        """The lines moved `bars` later and `by` higher."""
        return Lines(
            self.start + bars,
            self.upper + by,
            self.upper_slope,
            self.lower + by,
            self.lower_slope,
        )


def wander(rng: Rng, count: int, unit: float) -> Floats:
    """Daily moves outside shapes, with fat tails and a random drift."""
    moves: Floats = rng.standard_t(TAILS, count) * np.sqrt((TAILS - 2) / TAILS) * STEP * unit
    drift: float = rng.normal(0, 0.05) * unit
    return moves + drift


def bridge(rng: Rng, first: float, last: float, bars: int, noise: float) -> Floats:
    """`bars` closes after `first`, of which the last is `last`: a line and a Brownian bridge."""
    share = np.arange(1, bars + 1) / bars
    walk = np.cumsum(rng.normal(0, noise, bars))
    closes: Floats = first + (last - first) * share + walk - walk[-1] * share
    return closes


@dataclass(slots=True)
class Sketch:
    """The log prices of bars while a shape is drawn into them; `bars()` returns the result."""

    unit: float
    open: Floats
    high: Floats
    low: Floats
    close: Floats

    @classmethod
    def along(cls, rng: Rng, close: Floats, unit: float) -> Sketch:
        """Bars that close along a path, with gaps and wicks."""
        before = np.concatenate([close[:1], close[:-1]])
        opened = before + rng.normal(0, GAP * unit, len(close))
        wicks = rng.exponential(WICK * unit, (2, len(close)))
        high = np.maximum(opened, close) + wicks[0]
        low = np.minimum(opened, close) - wicks[1]
        return cls(unit, opened, high, low, close)

    def hold(self, rng: Rng, span: slice, lines: Lines, noise: float) -> None:
        """Keep the bars of a span between lines; wicks exceed them only by noise (in units)."""
        upper, lower = lines.at(np.arange(span.start, span.stop, dtype=float))
        count = span.stop - span.start
        slack = np.abs(rng.normal(0, noise * self.unit, (2, count)))
        self.open[span] = np.clip(self.open[span], lower, upper)
        self.high[span] = np.minimum(self.high[span], upper + slack[0])
        self.low[span] = np.maximum(self.low[span], lower - slack[1])
        self._contain()

    def pin(self, bar: int, level: float, *, at_upper: bool) -> None:
        """Put the extreme of a bar on a level, as far as its open and close allow."""
        if at_upper:
            self.high[bar] = level
        else:
            self.low[bar] = level
        self._contain()

    def _contain(self) -> None:
        np.maximum(self.high, np.maximum(self.open, self.close), out=self.high)
        np.minimum(self.low, np.minimum(self.open, self.close), out=self.low)

    def bars(self) -> Bars:
        """The bars in dollars, on consecutive days."""
        date = np.arange(len(self.close), dtype=np.int32) + 10_000
        prices = (np.exp(part) for part in (self.open, self.high, self.low, self.close))
        columns = [*prices, np.ones(len(date))]
        return Bars(date, *columns)


def squeezed(rng: Rng, close: Floats, upper: Floats, lower: Floats, unit: float) -> Floats:
    """Move closes inside two lines if they are beyond or too near, so none breaks out early."""
    width = upper - lower
    margin = np.minimum(unit * rng.uniform(0.15, 0.5, (2, len(close))), 0.3 * width)
    inside: Floats = np.clip(close, lower + margin[0], upper - margin[1])
    return inside

"""The controls: charts that no detector drew.

Random lines through swings, which converge and hold the closes, are what anyone can draw on any
stretch of bars. A detector that is accepted no more often than they are has found nothing. Planted
patterns have their true lines.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping

import numpy as np

from research.chartist.charts import Chart, DrawnLine, kind_of
from research.planted.carving import NOISES
from research.planted.patterns import KINDS, plant
from screener.nightly.bars import Bars, Floats, to_day

LENGTHS = (18, 30, 45, 70, 100)
"""Bars of the stretch on which lines are drawn."""

BEFORE, AFTER = 60, 30
"""Bars that a symbol must have before and after the stretch."""

ASIDE = 2
"""A swing is the extreme of itself and this many bars on either side."""

SPREAD = 0.3
"""The two swings of a line are at least this share of the stretch apart."""

SLACK = 0.02
"""A close may lie this far beyond a line, in log price."""

TRIES = 20_000


def controls(
    market: Mapping[str, Bars], count: int, rng: np.random.Generator, since: dt.date | None = None
) -> list[Chart]:
    """Random lines on as many symbols, no two of one symbol.

    Raises:
        ValueError: the symbols are too few for so many.
    """
    left, found = sorted(market), list[Chart]()
    for _ in range(TRIES if left else 0):
        if len(found) == count or not left:
            break
        symbol = left[rng.integers(len(left))]
        if (chart := random_lines(symbol, market[symbol], rng, since)) is not None:
            found.append(chart)
            left.remove(symbol)
    if len(found) < count:
        raise ValueError(f"Random lines were found on {len(found)} symbols, not on {count}.")
    return found


def random_lines(
    symbol: str, bars: Bars, rng: np.random.Generator, since: dt.date | None = None
) -> Chart | None:
    """One attempt at two lines on one random stretch of the bars."""
    length = int(rng.choice(LENGTHS))
    earliest = int(np.searchsorted(bars.date, to_day(since))) if since else 0
    lowest, highest = max(length + BEFORE, earliest), len(bars) - AFTER
    if lowest >= highest:
        return None
    last = int(rng.integers(lowest, highest))
    first = last - length
    stretch = bars.take(slice(first, last + 1))
    upper = _through_swings(np.log(stretch.high), first, rng)
    lower = _through_swings(-np.log(stretch.low), first, rng)
    if upper is None or lower is None:
        return None
    lower = DrawnLine(lower.start, -lower.value, -lower.slope)
    if not _converge(upper, lower, last) or not _hold(upper, lower, bars, last):
        return None
    return Chart("random", symbol, _kind(upper, lower), bars, upper, lower, last)


def _through_swings(values: Floats, first: int, rng: np.random.Generator) -> DrawnLine | None:
    """A line through two random peaks of the values that lie far enough apart."""
    inner = range(ASIDE, len(values) - 1 - ASIDE)
    peaks = [i for i in inner if values[i] == values[i - ASIDE : i + ASIDE + 1].max()]
    if len(peaks) < 2:
        return None
    one, other = sorted(int(i) for i in rng.choice(peaks, 2, replace=False))
    if other - one < SPREAD * (len(values) - 1):
        return None
    slope = float(values[other] - values[one]) / (other - one)
    return DrawnLine(first + one, float(values[one]), slope)


def _converge(upper: DrawnLine, lower: DrawnLine, last: int) -> bool:
    return upper.slope < lower.slope and upper.at(last) > lower.at(last)


def _hold(upper: DrawnLine, lower: DrawnLine, bars: Bars, last: int) -> bool:
    """Whether all closes since the first line's start lie between the lines, or nearly."""
    since = np.arange(min(upper.start, lower.start), last + 1)
    close = np.log(bars.close[since])
    over = close - (upper.value + upper.slope * (since - upper.start))
    under = lower.value + lower.slope * (since - lower.start) - close
    return bool(max(over.max(), under.max()) <= SLACK)


def _kind(upper: DrawnLine, lower: DrawnLine) -> str:
    if upper.slope > 0:
        return "rising wedge"
    return "falling wedge" if lower.slope < 0 else "symmetrical triangle"


def planted(count: int, seed: int) -> Iterator[Chart]:
    """So many planted patterns of all kinds and noises in turn, cut before the breakout bar."""
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        noise = NOISES[number // len(KINDS) % len(NOISES)]
        made = plant(np.random.default_rng([seed, number]), kind, noise)
        lines = made.lines
        yield Chart(
            "planted",
            "",
            kind_of(kind, None),
            made.bars,
            DrawnLine(lines.start, lines.upper, lines.upper_slope),
            DrawnLine(lines.start, lines.lower, lines.lower_slope),
            made.end - 1,
            plant=f"carved {kind}, noise {noise}, seed {seed}-{number}",
        )

"""Measures: the fixed series of a split, and how an event log compares with the truth of each.

A pattern is *found* if a version of its family was served before its breakout over a span that
overlaps the true one by half. Its *trigger* is the trade nearest to the true breakout bar, in the
true direction, among all attempts of the versions found. An earlier false break does not count
against it, because the formation is served again after one. The share of first attempts that are
already the true one is reported too, because the statistics of a night use only first attempts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from research.planted.carving import NOISES
from research.planted.decoys import DECOYS, Decoy
from research.planted.patterns import KINDS, Plant, plant
from research.planted.prices import MODELS, Rng, walk
from screener.nightly.bars import Bars
from screener.nightly.detector.detector import line_values
from screener.nightly.detector.events import EventLog, Rows
from screener.nightly.results.views import FAMILIES, family_index
from store.wire.families import Family

Detector = Callable[[Bars], EventLog]

Split = Literal["report", "test", "try", "teach-1", "teach-2", "teach-3", "teach-4"]

SEEDS: dict[Split, int] = {
    "report": 2,
    "test": 3,
    "try": 15,
    "teach-1": 11,
    "teach-2": 12,
    "teach-3": 13,
    "teach-4": 14,
}
"""What documents report and tests try, on which nothing was chosen; on what rules and minima are
chosen; and what teaches the judgement."""

TEACHING: tuple[Split, ...] = ("teach-1", "teach-2", "teach-3", "teach-4")

WALK_DAYS = 2000
WALKS = 20
"""Random walks of each model."""


def rng_of(split: Split, *numbers: int) -> Rng:
    """The random numbers of one series of a split."""
    return np.random.default_rng([SEEDS[split], *numbers])


def plants(split: Split, each: int) -> Iterator[Plant]:
    """`each` series of every type and noise, with one planted pattern."""
    for number, kind in enumerate(KINDS):
        for level, noise in enumerate(NOISES):
            for index in range(each):
                yield plant(rng_of(split, 0, number, level, index), kind, noise)


def decoys(split: Split, each: int) -> Iterator[Decoy]:
    """`each` series of every kind and noise, with one decoy."""
    for number, draw in enumerate(DECOYS.values()):
        for level, noise in enumerate(NOISES):
            for index in range(each):
                yield draw(rng_of(split, 1, number, level, index), noise)


def walks(split: Split, each: int = WALKS, days: int = WALK_DAYS) -> Iterator[tuple[str, Bars]]:
    """`each` random walks of every model."""
    for number, model in enumerate(MODELS):
        for index in range(each):
            yield model, walk(rng_of(split, 2, number, index), model, days)


OVERLAP = 0.5
"""Intersection over union from which two spans are one formation."""


@dataclass(frozen=True, slots=True)
class Find:
    """How a log found a planted pattern."""

    entry: int | None
    """Bars from the true breakout bar to the trade nearest to it; None without a trade."""
    first: int | None
    """The same for the first trade."""
    line_error: float
    """Mean distance of both lines to the true ones, in ATR."""


def overlaps(version: Rows, bars: int, start: int, end: int) -> bool:
    """Whether a version's span overlaps that of a shape enough."""
    first = min(int(version["upper_start"]), int(version["lower_start"]))
    last = int(version["end"]) if version["end"] >= 0 else bars - 1
    shared = min(last, end) - max(first, start)
    return shared >= OVERLAP * (max(last, end) - min(first, start))


def family_of(version: Rows) -> Family:
    """The family of a version."""
    return FAMILIES[family_index(int(version["type"]))]


def find(log: EventLog, plant: Plant) -> Find | None:
    """How a log found a planted pattern; None if it did not."""
    rows = [
        row
        for row, version in enumerate(log.versions)
        if version["first_served"] < plant.end
        and family_of(version) == plant.family
        and overlaps(version, len(plant.bars), plant.start, plant.end)
    ]
    if not rows:
        return None
    trades = [
        trade
        for trade in log.trades
        if trade["version"] in rows and trade["direction"] == plant.direction
    ]
    if not trades:
        return Find(None, None, line_error(log.versions[rows[-1]], plant))
    trade = min(trades, key=lambda trade: abs(int(trade["entry"]) - plant.end))
    late, first = (int(entry) - plant.end for entry in (trade["entry"], trades[0]["entry"]))
    error = line_error(log.versions[trade["version"]], plant)
    return Find(late, first, error)


def line_error(version: Rows, plant: Plant) -> float:
    """The mean distance from the true lines over the planted span, in ATR."""
    errors = []
    for side, name in enumerate(("upper", "lower")):
        first = max(plant.start, int(version[f"{name}_start"]))
        for bar in range(first, plant.end + 1):
            drawn = line_values(version, bar)[side]
            errors.append(abs(float(plant.lines.at(bar)[side]) - drawn))
    return float(np.mean(errors)) / plant.unit


def is_hit(log: EventLog, decoy: Decoy) -> bool:
    """Whether a setup was served in the place of a decoy."""
    return any(
        overlaps(version, len(decoy.bars), decoy.start, decoy.end) for version in log.versions
    )


def formations(log: EventLog) -> int:
    """The number of formations that a log served; redrawn versions of a lineage count once."""
    return len(np.unique(log.versions["lineage"]))


@dataclass(frozen=True, slots=True)
class Rate:
    """A share or a frequency with its 95% interval."""

    value: float
    low: float
    high: float
    cases: int

    def text(self, scale: float = 100, digits: int = 1) -> str:
        """The rate as text, as a percentage unless scaled otherwise."""
        value, low, high = (
            f"{scale * part:.{digits}f}" for part in (self.value, self.low, self.high)
        )
        return f"{value} [{low}, {high}]"


def share(hits: Sequence[bool]) -> Rate:
    """A share with Wilson's interval."""
    cases, z = len(hits), 1.96
    if not cases:
        return Rate(np.nan, np.nan, np.nan, 0)
    p = float(np.mean(hits))
    centre = (p + z**2 / (2 * cases)) / (1 + z**2 / cases)
    half = z * np.sqrt(p * (1 - p) / cases + z**2 / (4 * cases**2)) / (1 + z**2 / cases)
    return Rate(p, float(centre - half), float(centre + half), cases)


def frequency(counts: Sequence[int], bars: int) -> Rate:
    """A count per thousand bars over series of equal length; the interval is from their spread."""
    each = 1000 * np.asarray(counts, float) / bars
    half = 1.96 * float(each.std(ddof=1)) / np.sqrt(len(each))
    mean = float(each.mean())
    return Rate(mean, mean - float(half), mean + float(half), len(each))

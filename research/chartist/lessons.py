"""Lessons: drawings of series whose truth is known, which teach the judgement beside readers.

A drawing of a planted pattern near its true lines is accepted; one of a decoy is not. The detector
draws them without a minimum score. Random walks teach nothing: readers accept what chance draws on
them as often as on real charts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from research.chartist.charts import name_of
from research.chartist.shapes import shape_at
from research.planted.measures import TEACHING, decoys, line_error, overlaps, plants
from research.planted.patterns import Plant
from screener.nightly.bars import Bars
from screener.nightly.detector.detector import detect
from screener.nightly.detector.events import EventLog, Rows
from screener.nightly.detector.parameters import DEFAULTS

EACH = 15
"""Series of each kind and noise, for each seed."""
NEAR = 0.4
"""ATR by which the lines of an accepted drawing are off the true ones, at most."""

UNJUDGED = DEFAULTS._replace(quality_min=0.0, fade_margin=100.0)


@dataclass(frozen=True, slots=True)
class Lesson:
    """A drawing, whether it is accepted, and what kind of series it is of."""

    source: str
    """`plant` or `decoy`."""
    kind: str
    accepted: bool
    shape: Mapping[str, float]


def lessons() -> Iterator[Lesson]:
    """All lessons of the teaching seeds."""
    for split in TEACHING:
        for plant in plants(split, EACH):
            log = detect(plant.bars, UNJUDGED)
            for version in _served(log, plant.bars, plant.start, plant.end):
                if version["first_served"] < plant.end and _is_of(version, plant):
                    yield from _drawn("plant", plant.bars, version, plant.end - 1)
        for decoy in decoys(split, EACH):
            log = detect(decoy.bars, UNJUDGED)
            for version in _served(log, decoy.bars, decoy.start, decoy.end):
                yield from _drawn("decoy", decoy.bars, version, len(decoy.bars) - 1)


def _served(log: EventLog, bars: Bars, start: int, end: int) -> Iterator[Rows]:
    """The versions in the place of a shape."""
    return (one for one in log.versions if overlaps(one, len(bars), start, end))


def _is_of(version: Rows, plant: Plant) -> bool:
    """Whether a drawing has the name of a plant and lies near its lines."""
    named = name_of(int(version["type"])) == plant.kind
    return named and line_error(version, plant) < NEAR


def _drawn(source: str, bars: Bars, version: Rows, last: int) -> Iterator[Lesson]:
    """A version as it was first served and as it was last served, no later than a bar."""
    first = int(version["first_served"])
    ended = int(version["end"]) - 1 if version["end"] >= 0 else last
    for bar in sorted({first, max(first, min(ended, last))}):
        shape = shape_at(bars, version, bar)
        if np.isfinite(shape).all():
            kind = name_of(int(version["type"]))
            yield Lesson(source, kind, source == "plant", shape._asdict())

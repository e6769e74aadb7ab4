"""Corpus: the fixed series of a split, by either generator.

`zigzag` draws legs between two lines. `carved` was written without knowledge of it: it draws the
geometry first and forces a market path to follow. Thresholds are chosen on zigzag's `tune` seeds
and on rated charts; what is reported comes from carved, and from other seeds of zigzag.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from benchmarks.planted.carved.decoys import DECOYS as CARVED_DECOYS
from benchmarks.planted.carved.decoys import Decoy as CarvedDecoy
from benchmarks.planted.carved.patterns import KINDS as CARVED_KINDS
from benchmarks.planted.carved.patterns import plant as carve
from benchmarks.planted.carved.walks import MODELS as CARVED_MODELS
from benchmarks.planted.carved.walks import walk as carved_walk
from benchmarks.planted.decoys import DECOYS, Decoy
from benchmarks.planted.patterns import NOISES, SORTS, Plant, plant
from benchmarks.planted.series import Lines, Rng
from benchmarks.planted.walks import MODELS, walk
from nightly.bars import Bars

Split = Literal["tune", "report", "test"]

SEEDS: dict[Split, int] = {"tune": 1, "report": 2, "test": 3}

WALK_DAYS = 2000
WALKS = 20
"""Random walks of each model."""


@dataclass(frozen=True, slots=True)
class Generator:
    """How one generator draws its series."""

    kinds: Sequence[str]
    plant: Callable[[Rng, str, float], Plant]
    decoys: Mapping[str, Callable[[Rng, float], Decoy]]
    models: Sequence[str]
    walk: Callable[[Rng, str, int], Bars]


def carved_plant(rng: Rng, kind: str, noise: float) -> Plant:
    """A pattern of the second generator, which does not say how its trade ends."""
    made = carve(rng, kind, noise)
    its = made.lines
    lines = Lines(its.start, its.upper, its.upper_slope, its.lower, its.lower_slope)
    return Plant(
        made.kind,
        made.family,
        made.noise,
        made.bars,
        lines,
        made.start,
        made.end,
        made.unit,
        made.direction,
        None,
    )


def carved_decoy(draw: Callable[[Rng, float], CarvedDecoy], rng: Rng, noise: float) -> Decoy:
    """A decoy of the second generator."""
    made = draw(rng, noise)
    return Decoy(made.kind, made.bars, made.start, made.end, made.unit)


GENERATORS = {
    "zigzag": Generator(tuple(SORTS), plant, DECOYS, tuple(MODELS), walk),
    "carved": Generator(
        CARVED_KINDS,
        carved_plant,
        {name: partial(carved_decoy, draw) for name, draw in CARVED_DECOYS.items()},
        tuple(CARVED_MODELS),
        carved_walk,
    ),
}
ZIGZAG = GENERATORS["zigzag"]


def rng_of(split: Split, *numbers: int) -> Rng:
    """The generator of one series of a split."""
    return np.random.default_rng([SEEDS[split], *numbers])


def plants(split: Split, each: int, by: Generator = ZIGZAG) -> Iterator[Plant]:
    """`each` series of every type and noise, with one planted pattern."""
    for number, kind in enumerate(by.kinds):
        for level, noise in enumerate(NOISES):
            for index in range(each):
                yield by.plant(rng_of(split, 0, number, level, index), kind, noise)


def decoys(split: Split, each: int, by: Generator = ZIGZAG) -> Iterator[Decoy]:
    """`each` series of every kind and noise, with one decoy."""
    for number, draw in enumerate(by.decoys.values()):
        for level, noise in enumerate(NOISES):
            for index in range(each):
                yield draw(rng_of(split, 1, number, level, index), noise)


def walks(
    split: Split, each: int = WALKS, days: int = WALK_DAYS, by: Generator = ZIGZAG
) -> Iterator[tuple[str, Bars]]:
    """`each` random walks of every model."""
    for number, model in enumerate(by.models):
        for index in range(each):
            yield model, by.walk(rng_of(split, 2, number, index), model, days)

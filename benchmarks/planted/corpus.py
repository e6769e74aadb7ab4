"""Corpus: the fixed series of a split. Results on the seeds used for tuning are not reported."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from benchmarks.planted.decoys import DECOYS, Decoy
from benchmarks.planted.patterns import NOISES, SORTS, Plant, plant
from benchmarks.planted.series import Rng
from benchmarks.planted.walks import MODELS, walk
from nightly.bars import Bars

Split = Literal["tune", "report", "test"]

SEEDS: dict[Split, int] = {"tune": 1, "report": 2, "test": 3}

WALK_DAYS = 2000
WALKS = 20
"""Random walks of each model."""


def rng_of(split: Split, *numbers: int) -> Rng:
    """The generator of one series of a split."""
    return np.random.default_rng([SEEDS[split], *numbers])


def plants(split: Split, each: int) -> Iterator[Plant]:
    """`each` series of every type and noise, with one planted pattern."""
    for number, kind in enumerate(SORTS):
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

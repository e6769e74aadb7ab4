"""Plants: charts of planted patterns with their true lines, cut at the bar before the breakout."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.chartist.charts import Chart, Line, kind_of
from benchmarks.planted.corpus import GENERATORS
from benchmarks.planted.patterns import NOISES


def planted(count: int, seed: int, generator: str = "carved") -> Iterator[Chart]:
    """So many charts of a generator, of all kinds and noises in turn."""
    by = GENERATORS[generator]
    for number in range(count):
        kind = by.kinds[number % len(by.kinds)]
        noise = NOISES[number // len(by.kinds) % len(NOISES)]
        made = by.plant(np.random.default_rng([seed, number]), kind, noise)
        lines = made.lines
        yield Chart(
            "planted",
            "",
            kind_of(kind, None),
            made.bars,
            Line(lines.start, lines.upper, lines.upper_slope),
            Line(lines.start, lines.lower, lines.lower_slope),
            made.end - 1,
            plant=f"{generator} {kind}, noise {noise}, seed {seed}-{number}",
        )

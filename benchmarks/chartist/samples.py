"""Samples: which of many charts are drawn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.chartist.charts import KINDS, Chart


def sample(charts: Sequence[Chart], each: int, rng: np.random.Generator) -> list[Chart]:
    """Up to `each` random charts of every kind, no two of one symbol.

    The rarest kinds choose first, so that common ones do not take their symbols.
    """
    groups = {kind: [chart for chart in charts if chart.kind == kind] for kind in KINDS}
    taken: set[str] = set()
    chosen: list[Chart] = []
    for group in sorted(groups.values(), key=lambda group: len({one.symbol for one in group})):
        picked = _spread(group, each, taken, rng)
        taken |= {chart.symbol for chart in picked}
        chosen += picked
    return chosen


def _spread(
    group: Sequence[Chart], each: int, taken: set[str], rng: np.random.Generator
) -> list[Chart]:
    """Random charts of as many symbols, none of them taken."""
    picked: dict[str, Chart] = {}
    for index in rng.permutation(len(group)):
        chart = group[index]
        if len(picked) < each and chart.symbol not in taken:
            picked.setdefault(chart.symbol, chart)
    return list(picked.values())

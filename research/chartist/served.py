"""Served: the drawings that are forming on random sessions, as readers would meet them.

A session is any on which a setup is forming, not the last of its life, and the quality is that of
the session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from research.chartist.charts import BEFORE, KINDS, Chart, DrawnLine, gap_days, name_of
from research.chartist.shapes import shape_at
from screener.nightly.bars import Bars
from screener.nightly.detector.detector import detect
from screener.nightly.detector.events import Rows
from screener.nightly.detector.kernel.shape import judged
from screener.nightly.detector.parameters import Parameters

BANDS = (0.0, 65.0, 80.0, 100.1)
"""Quality in percent: up to 65, to 80, above."""


@dataclass(frozen=True, slots=True, eq=False)
class ServedChart:
    """A drawing that is forming on a session, and its quality there."""

    chart: Chart
    quality: float

    @property
    def band(self) -> int:
        """Which of `BANDS` the quality is in."""
        return int(np.searchsorted(BANDS, self.quality, side="right")) - 1


def served(
    market: Mapping[str, Bars],
    parameters: Parameters,
    sessions: int,
    rng: np.random.Generator,
    first: int = 300,
) -> Iterator[ServedChart]:
    """What is forming on so many random sessions of each symbol."""
    for symbol, bars in market.items():
        if len(bars) <= first:
            continue
        versions = detect(bars, parameters, gap_days=gap_days(symbol)).versions
        ends = np.where(versions["end"] < 0, len(bars), versions["end"])
        for session in rng.choice(np.arange(first, len(bars)), min(sessions, len(bars) - first)):
            forming = versions[(versions["first_served"] <= session) & (session < ends)]
            for version in forming:
                yield _served(symbol, bars, version, int(session))


def _served(symbol: str, bars: Bars, version: Rows, session: int) -> ServedChart:
    upper, lower = (
        DrawnLine(
            int(version[f"{side}_start"]),
            float(version[f"{side}_value"]),
            float(version[f"{side}_slope"]),
        )
        for side in ("upper", "lower")
    )
    kind = name_of(int(version["type"]))
    chart = Chart("evening", symbol, kind, bars, upper, lower, session)
    return ServedChart(chart, quality_at(bars, version, chart.start, session))


def quality_at(bars: Bars, version: Rows, start: int, session: int) -> float:
    """The quality of a version as of a session."""
    first = max(0, start - BEFORE)
    moved = version.copy()
    for side in ("upper", "lower"):
        moved[f"{side}_start"] -= first
    shape = shape_at(bars.take(slice(first, session + 1)), moved, session - first)
    return float(judged(shape, int(version["type"])))


def chosen(
    charts: Sequence[ServedChart],
    whole: int,
    each_band: int,
    each_kind: int,
    rng: np.random.Generator,
) -> list[ServedChart]:
    """A random sample as an evening has them, then more of each band and kind that has too few.

    No two are of one symbol. Those of the first part are `by` `evening`.
    """
    order = [charts[place] for place in rng.permutation(len(charts))]
    taken: dict[str, ServedChart] = {}
    bands, kinds = Counter[int](), Counter[str]()

    def take(one: ServedChart, by: str) -> None:
        taken[one.chart.symbol] = ServedChart(replace(one.chart, by=by), one.quality)
        bands[one.band] += 1
        kinds[one.chart.kind] += 1

    for one in order:
        if len(taken) < whole and one.chart.symbol not in taken:
            take(one, "evening")
    for kind in sorted(KINDS, key=lambda kind: sum(one.chart.kind == kind for one in order)):
        for one in [one for one in order if one.chart.kind == kind]:
            if kinds[kind] < each_kind and one.chart.symbol not in taken:
                take(one, "evening, more of its kind")
    for one in order:
        if bands[one.band] < each_band and one.chart.symbol not in taken:
            take(one, "evening, more of its band")
    return list(taken.values())


def never_drawn(market: Mapping[str, Bars], drawn: Collection[str]) -> dict[str, Bars]:
    """The symbols of a market that no round of random sessions has had."""
    return {symbol: bars for symbol, bars in market.items() if symbol not in drawn}

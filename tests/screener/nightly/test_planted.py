"""The detector on planted patterns, decoys and walks: a quick subset, on seeds of its own.

`python -m research.planted` measures the same on more series; the bounds here lie a few points
to the bad side of what it prints, so that a change for the worse shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from research.planted.carving import NOISES
from research.planted.decoys import DECOYS, Decoy
from research.planted.measures import decoys, find, formations, is_hit, plants, share, walks
from research.planted.patterns import KINDS, Plant, plant
from screener.nightly.bars import Bars
from screener.nightly.detector.detector import detect
from screener.nightly.detector.events import EventLog
from screener.nightly.detector.parameters import DEFAULTS, Parameters
from tests.screener.nightly.probes import look_ahead, scale_error

DAYS = 2000
LENIENT = Parameters(quality_min=20.0)


@dataclass(frozen=True)
class Corpus:
    """The series that a detector is tried on."""

    planted: list[Plant]
    shaped: list[Decoy]
    walked: list[Bars]

    def series(self) -> list[Bars]:
        planted, shaped = [p.bars for p in self.planted], [d.bars for d in self.shaped]
        return planted + shaped + self.walked


@dataclass(frozen=True)
class Scores:
    """The results of one detector on the subset."""

    recall: float
    exact: float
    near: float
    line_error: float
    hits: dict[str, float]
    formations: float
    """In 1,000 bars of random walk."""

    @property
    def hit(self) -> float:
        """The share of all decoys, whose kinds are equally many."""
        return float(np.mean(list(self.hits.values())))


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return Corpus(
        list(plants("test", 12)),
        list(decoys("test", 16)),
        [bars for _, bars in walks("test", each=4, days=DAYS)],
    )


def scored(parameters: Parameters, corpus: Corpus) -> Scores:
    detector = partial(detect, parameters=parameters)
    found = [find(detector(item.bars), item) for item in corpus.planted]
    finds = [item for item in found if item is not None]
    entries = [item.entry for item in finds]
    hits = [(decoy.kind, is_hit(detector(decoy.bars), decoy)) for decoy in corpus.shaped]
    return Scores(
        recall=len(finds) / len(found),
        exact=entries.count(0) / len(finds),
        near=sum(entry is not None and abs(entry) <= 1 for entry in entries) / len(finds),
        line_error=float(np.median([item.line_error for item in finds])),
        hits={kind: share([hit for of, hit in hits if of == kind]).value for kind in DECOYS},
        formations=1000 / DAYS * np.mean([formations(detector(b)) for b in corpus.walked]).item(),
    )


def test_planted_patterns_are_found_with_their_lines_and_breakouts(corpus: Corpus) -> None:
    """Decoys and walks have no bound: readers accept what chance draws on them as well."""
    default = scored(DEFAULTS, corpus)
    assert default.recall >= 0.8
    assert default.exact >= 0.75
    assert default.near >= 0.85
    assert default.line_error <= 0.15


def test_the_first_trigger_is_told_from_the_nearest(corpus: Corpus) -> None:
    """The nearest of all attempts is the trigger; the first one is never closer to the truth."""
    finds = [item for p in corpus.planted if (item := find(detect(p.bars), p)) is not None]
    pairs = [(item.entry, item.first) for item in finds if item.entry is not None]
    assert all(first is not None and abs(nearest) <= abs(first) for nearest, first in pairs)
    assert any(nearest == 0 != first for nearest, first in pairs)


@pytest.mark.parametrize("parameters", [DEFAULTS, LENIENT], ids=["default", "lenient"])
def test_nothing_planted_is_known_ahead_or_depends_on_the_currency(
    parameters: Parameters, corpus: Corpus
) -> None:
    """The past is the same at random cuts, and the log at random price factors."""
    detector: Callable[[Bars], EventLog] = partial(detect, parameters=parameters)
    rng = np.random.default_rng(5)
    for bars in corpus.series()[::4]:
        assert look_ahead(detector, bars, rng.integers(20, len(bars), 3).tolist()) == []
        assert scale_error(detector, bars, float(np.exp(rng.normal(0, 2)))) < 1e-9


def planted(kind: str, seed: int) -> Plant:
    return plant(np.random.default_rng(seed), kind, NOISES[seed % len(NOISES)])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_a_planted_pattern_keeps_between_its_lines_until_its_breakout(kind: str, seed: int) -> None:
    """The first close beyond a line is the breakout; highs and lows reach each line at times well
    apart; the lines converge toward an apex that the breakout does not reach.
    """
    made = planted(kind, seed)
    upper, lower = made.lines.at(np.arange(made.start, made.end + 1))
    close, high, low = (
        np.log(column[made.start : made.end + 1])
        for column in (made.bars.close, made.bars.high, made.bars.low)
    )
    assert np.all((close < upper)[:-1] & (close > lower)[:-1])
    assert (close[-1] > upper[-1]) if made.direction > 0 else (close[-1] < lower[-1])
    assert 0.2 <= (upper - lower)[-1] / (upper - lower)[0] <= 0.5
    near = 2 * made.noise * 1.5 * made.unit  # contacts miss by two deviations of a planned unit
    for gap in ((upper - high)[:-1], (low - lower)[:-1]):
        assert np.ptp(np.flatnonzero(gap <= near)) >= len(gap) / 5


def test_series_depend_on_their_seeds_alone() -> None:
    """The same seeds draw the same bars, other splits others."""
    for kind in KINDS:
        one, again = planted(kind, 3), planted(kind, 3)
        assert (one.lines, one.start, one.end) == (again.lines, again.start, again.end)
        assert all(map(np.array_equal, one.bars.columns(), again.bars.columns()))
    tested, reported = next(plants("test", 1)), next(plants("report", 1))
    assert tested.bars.close.tobytes() != reported.bars.close.tobytes()

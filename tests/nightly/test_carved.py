"""The carved series: planted patterns keep their lines, and every series is one of valid bars."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.planted.carved.decoys import DECOYS
from benchmarks.planted.carved.patterns import KINDS, NOISES, Plant, plant
from benchmarks.planted.carved.walks import MODELS, walk
from nightly.bars import Bars

SEEDS = range(6)


def drawn(kind: str, seed: int) -> Plant:
    return plant(np.random.default_rng(seed), kind, NOISES[seed % len(NOISES)])


def assert_valid(bars: Bars) -> None:
    assert bars.date.dtype == np.int32
    assert np.all(np.diff(bars.date) == 1)
    assert np.all(bars.low > 0)
    assert np.all(bars.low <= np.minimum(bars.open, bars.close))
    assert np.all(bars.high >= np.maximum(bars.open, bars.close))
    assert np.all(np.isfinite(bars.volume) & (bars.volume > 0))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_first_close_beyond_a_line_is_the_breakout_in_its_direction(
    kind: str, seed: int
) -> None:
    made = drawn(kind, seed)
    assert_valid(made.bars)
    span = np.arange(made.start, made.end + 1)
    upper, lower = made.lines.at(span)
    close = np.log(made.bars.close[span])
    assert np.all((close < upper)[:-1] & (close > lower)[:-1])
    assert (close[-1] > upper[-1]) if made.direction > 0 else (close[-1] < lower[-1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_lines_converge_toward_an_apex_that_the_breakout_does_not_reach(
    kind: str, seed: int
) -> None:
    made = drawn(kind, seed)
    upper, lower = made.lines.at(np.array([made.start, made.end]))
    assert 0.2 <= (upper - lower)[1] / (upper - lower)[0] <= 0.5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_highs_and_lows_reach_each_line_at_times_well_apart(kind: str, seed: int) -> None:
    made = drawn(kind, seed)
    span = np.arange(made.start, made.end)
    upper, lower = made.lines.at(span)
    near = 2 * made.noise * 1.5 * made.unit  # contacts miss by two deviations of a planned unit
    for gap in (upper - np.log(made.bars.high[span]), np.log(made.bars.low[span]) - lower):
        assert np.ptp(np.flatnonzero(gap <= near)) >= len(span) / 5


def test_one_seed_gives_one_series() -> None:
    for kind in KINDS:
        once, again = drawn(kind, 3), drawn(kind, 3)
        assert (once.lines, once.start, once.end) == (again.lines, again.start, again.end)
        for column, same in zip(once.bars.columns(), again.bars.columns(), strict=True):
            assert np.array_equal(column, same)


@pytest.mark.parametrize("name", DECOYS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_decoy_is_valid_bars_around_its_span(name: str, seed: int) -> None:
    made = DECOYS[name](np.random.default_rng(seed), 0.2)
    assert_valid(made.bars)
    assert made.kind == name
    assert 90 < made.start < made.end < len(made.bars) - 59
    assert made.unit > 0


@pytest.mark.parametrize("model", MODELS)
def test_a_walk_is_as_many_valid_bars_as_asked_for(model: str) -> None:
    bars = walk(np.random.default_rng(1), model, 400)
    assert_valid(bars)
    assert len(bars) == 400

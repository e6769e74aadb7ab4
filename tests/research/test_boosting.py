"""The trees of the score: what they learn, and how the kernel adds them up."""

from __future__ import annotations

import numpy as np
import pytest

from research.chartist.boosting import BINS, Settings, boosted, edges_of, odds_of
from research.chartist.parts import PARTS, UNUSED
from screener.nightly.detector.events import PatternType
from screener.nightly.detector.judgement import read_trees
from screener.nightly.detector.kernel.shape import Shape, judged

SETTINGS = Settings(trees=60, rate=0.2, ridge=1.0, least=5.0)
RNG = np.random.default_rng(5)
NUMBERS = RNG.uniform(-1, 1, (2000, 3))


def test_trees_learn_that_two_numbers_count_only_together() -> None:
    accepted = (NUMBERS[:, 0] * NUMBERS[:, 1] > 0).astype(float)

    trees = boosted(NUMBERS, accepted, np.ones(2000), np.zeros(3, np.int64), SETTINGS)

    assert np.mean((odds_of(trees, NUMBERS) > 0) == (accepted > 0)) > 0.95


def test_no_bound_lies_on_a_value_so_the_last_digits_of_a_number_decide_nothing() -> None:
    """Half of the rows are 0, as where a line goes through both its touches."""
    column = np.round(np.concatenate([np.zeros(500), RNG.uniform(0, 1, 500)]), 3)

    edges = edges_of(column)

    values = np.unique(column)
    assert (np.abs(edges[:, None] - values).min(axis=1) > 4e-4).all()
    assert 10 < len(edges) < BINS


@pytest.mark.parametrize("sign", [1, -1])
def test_more_of_a_number_that_may_only_help_never_lowers_the_odds(sign: int) -> None:
    """Nor does more of one that may only hurt raise them, even where chance would have it."""
    accepted = (RNG.random(2000) < 0.5 + 0.3 * np.sin(5 * NUMBERS[:, 0])).astype(float)

    signs = np.array([sign, 0, 0])
    trees = boosted(NUMBERS, accepted, np.ones(2000), signs, SETTINGS)

    for row in NUMBERS[:20]:
        rows = np.tile(row, (50, 1))
        rows[:, 0] = np.linspace(-1, 1, 50)
        assert (sign * np.diff(odds_of(trees, rows)) >= -1e-12).all()


@pytest.mark.parametrize(
    ("kind", "name"),
    [(PatternType.RISING_WEDGE, "long"), (PatternType.BEARISH_SQUEEZE, "squeeze")],
)
def test_the_kernel_adds_up_the_trees_as_they_were_learned(kind: PatternType, name: str) -> None:
    trees = read_trees(name, Shape._fields)
    for _ in range(200):
        shape = Shape(*(RNG.normal(0.3, 1.0, len(PARTS)).tolist()))
        (odds,) = odds_of(trees, np.array([shape]))
        assert judged(shape, kind.value) == pytest.approx(100 / (1 + np.exp(-odds)), rel=1e-12)


@pytest.mark.parametrize("name", ["long", "squeeze"])
def test_the_trees_that_are_shipped_keep_the_signs_that_are_documented(name: str) -> None:
    trees = read_trees(name, Shape._fields)
    signs = [getattr(part, name) for part in PARTS]
    assert not {place for place, sign in enumerate(signs) if sign == UNUSED} & {*trees.part.flat}
    row = np.full(len(PARTS), 0.3)
    for place, sign in enumerate(signs):
        if sign in (1, -1):
            rows = np.tile(row, (60, 1))
            rows[:, place] = np.linspace(-1, 8, 60)
            assert (sign * np.diff(odds_of(trees, rows)) >= -1e-4).all(), PARTS[place].name

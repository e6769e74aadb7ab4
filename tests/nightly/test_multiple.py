"""Multiple tests: the chance that any line is wrongly said to differ, whatever lines are tested."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from nightly.intervals import clustered
from nightly.multiple import LEVEL, RESAMPLES, adjusted_p

MONTHS, EACH = 120, 6
CLUSTERS = np.repeat(np.arange(MONTHS), EACH)
SIZE = MONTHS * EACH

Mask = npt.NDArray[np.bool_]


def noise(seed: int) -> npt.NDArray[np.float64]:
    """Values without any difference, in months that share a shock."""
    rng = np.random.default_rng(seed)
    return np.repeat(rng.normal(0, 0.5, MONTHS), EACH) + rng.normal(0, 1.0, SIZE)


def lines(number: int) -> list[Mask]:
    """Lines that share no value: every line has its own remainder."""
    return [np.arange(SIZE) % number == rest for rest in range(number)]


def test_one_line_has_the_p_of_its_own_bootstrap() -> None:
    values, everything = noise(1), np.ones(SIZE, np.bool_)
    (p,) = adjusted_p(values, [everything], CLUSTERS)
    found = clustered(values, np.ones(SIZE), CLUSTERS)
    assert found is not None
    assert found.error is not None
    t = abs(found.mean / found.error)
    # The tails of a normal distribution, which 120 months come close to.
    expected = np.mean(np.abs(np.random.default_rng(2).normal(size=200_000)) >= t)
    assert p == pytest.approx(float(expected), abs=0.04)


def test_a_line_that_differs_is_found_among_many_that_do_not() -> None:
    values, masks = noise(3), lines(6)
    values[masks[4]] += 1.0
    found = adjusted_p(values, masks, CLUSTERS)
    assert found[4] == pytest.approx(1 / (RESAMPLES + 1))
    assert min(p for line, p in enumerate(found) if line != 4) > LEVEL


def test_of_many_markets_without_any_difference_few_have_a_line_that_is_said_to_differ() -> None:
    wrong = sum(min(adjusted_p(noise(seed), lines(6), CLUSTERS)) <= LEVEL for seed in range(50))
    # Six lines on their own would be wrong in a quarter of the markets.
    assert wrong <= 50 * LEVEL + 3 * np.sqrt(50 * LEVEL * (1 - LEVEL))


def test_the_same_line_twice_costs_nothing() -> None:
    values, mask = noise(5), lines(3)[0]
    assert adjusted_p(values, [mask, mask], CLUSTERS) == 2 * adjusted_p(values, [mask], CLUSTERS)


def test_a_smaller_difference_never_has_a_smaller_p() -> None:
    values, masks = noise(6), lines(8)
    t = []
    for mask in masks:
        found = clustered(values[mask], np.ones(int(mask.sum())), CLUSTERS[mask])
        assert found is not None
        assert found.error is not None
        t.append(abs(found.mean / found.error))
    p = adjusted_p(values, masks, CLUSTERS)
    assert [p[line] for line in np.argsort(t)[::-1]] == sorted(p)


def test_no_line_has_no_p() -> None:
    assert adjusted_p(noise(7), [], CLUSTERS) == []

"""The distribution of R: each trade is counted once, and a stopped one ends at -1 R."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.wire.method import EDGES, Distribution


@pytest.mark.parametrize(
    ("r", "place"),
    [
        (-5.0, 0),
        (-2.0, 0),
        (-1.999, 1),
        (-1.001, 2),
        (-1.0, 2),
        (-0.999, 3),
        (0.0, 4),
        (0.001, 5),
        (8.0, len(EDGES) - 1),
        (8.001, len(EDGES)),
        (25.0, len(EDGES)),
    ],
)
def test_a_bin_includes_its_upper_edge_and_not_its_lower_one(r: float, place: int) -> None:
    found = Distribution.of([r])

    assert found.counts.index(1) == place
    assert found.trades == 1


@given(st.lists(st.floats(-50, 50)))
def test_every_trade_is_counted_once_as_a_histogram_counts_it(values: list[float]) -> None:
    found = Distribution.of(values)
    edges = [-np.inf, *found.edges, np.inf]

    assert len(found.counts) == len(found.edges) + 1
    assert found.trades == len(values)
    assert found.counts == [
        sum(low < value <= high for value in values) for low, high in itertools.pairwise(edges)
    ]

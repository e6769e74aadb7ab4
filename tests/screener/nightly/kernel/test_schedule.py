"""Schedule: a pair of lines rests until its answer may have changed, and no longer than 16 bars."""

from __future__ import annotations

import numpy as np

from screener.nightly.detector.kernel.schedule import score_rest


def test_the_further_a_score_is_below_what_it_needs_the_longer_it_rests() -> None:
    rests = [score_rest(quality, 70.0) for quality in (69.0, 55.0, 45.0, 35.0, 20.0, 5.0)]

    assert rests == [1, 2, 3, 3, 8, 16]


def test_a_pair_that_is_near_is_judged_on_the_next_bar_whatever_it_needs() -> None:
    for needed in np.arange(5.0, 100.0, 5.0):
        assert score_rest(needed - 0.5, needed) == 1

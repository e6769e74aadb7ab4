"""Swings: every bar knows the next one, so that touches are found without looking at each bar."""

from __future__ import annotations

import numpy as np
import pytest

from screener.nightly.detector.detector import prices_of
from screener.nightly.detector.events import Scale
from screener.nightly.detector.kernel.prices import LOWER, UPPER, first_swing, flag_swings
from screener.nightly.detector.parameters import DEFAULTS
from tests.screener.nightly.series import walk


@pytest.mark.parametrize("scale", Scale)
@pytest.mark.parametrize("side", [UPPER, LOWER])
def test_from_every_bar_the_links_lead_to_the_first_swing_flagged_from_it(
    scale: Scale, side: int
) -> None:
    prices = prices_of(walk(300, seed=1), DEFAULTS)
    flag_swings(prices, scale.value, DEFAULTS.record())
    flagged = np.flatnonzero(prices["swing"][:, scale, side])
    assert len(flagged) > 20
    for bar in range(len(prices)):
        later = flagged[flagged >= bar]
        expected = later[0] if len(later) else 0
        assert first_swing(prices, scale.value, side, bar) == expected

"""Figures as every surface writes them."""

from __future__ import annotations

import pytest

from store.wire.words import change


@pytest.mark.parametrize(
    ("percent", "written"),
    [
        (999.49, "+999.49%"),
        (-999.49, "-999.49%"),
        (999.5, "+1,000%"),
        (12345.6, "+12,346%"),
        (0.0, "+0.00%"),
    ],
)
def test_a_change_is_written_with_cents_below_a_thousand_and_whole_above(
    percent: float, written: str
) -> None:
    assert change(percent) == written

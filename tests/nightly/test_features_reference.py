"""The screening features compared with the reference implementation, if it is available."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable

import numpy as np
import pytest

from nightly.bars import Bars, to_date, to_day
from tests.nightly.oracle import MISSING, PRESENT, prototype, real_bars
from tests.nightly.series import evidence, walk

ORACLE_PREFIXES = {"dfh_": "distance_from_high_", "dfl_": "distance_from_low_"}


Oracle = Callable[[Bars], dict[str, float]]


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    """The reference implementation."""
    if not PRESENT:
        pytest.skip(MISSING)
    module = prototype("features.py")
    names = [_column_of(name) for name in module.NAMES]

    def run(bars: Bars) -> dict[str, float]:
        out = np.empty(len(names))
        last = to_date(bars.date[-1])
        new_year = to_day(dt.date(last.year, 1, 1))
        columns = [np.ascontiguousarray(column) for column in bars.columns()]
        module.features(*columns[1:], columns[0], new_year, _month_before(last), out)
        out[~np.isfinite(out)] = np.nan
        return dict(zip(names, out.tolist(), strict=True))

    return run


def _column_of(name: str) -> str:
    return ORACLE_PREFIXES.get(name[:4], name[:4]) + name[4:]


def _month_before(date: dt.date) -> int:
    last_of_previous = date.replace(day=1) - dt.timedelta(days=1)
    return to_day(last_of_previous.replace(day=min(date.day, last_of_previous.day)))


def test_all_37_columns_of_the_reference_agree_at_every_length(oracle: Oracle) -> None:
    series = walk(270, seed=3)
    for length in range(1, len(series) + 1):
        bars = series.take(slice(0, length))
        expected = oracle(bars)
        if bars.date[0] > _month_before(to_date(bars.date[-1])):
            expected |= {"distance_from_high_1m": math.nan, "distance_from_low_1m": math.nan}
        found = evidence(bars)
        assert len(expected) == 37
        assert {name: found[name] for name in expected} == pytest.approx(
            expected, rel=1e-9, abs=1e-11, nan_ok=True
        )


def test_all_37_columns_of_the_reference_agree_on_real_symbols(oracle: Oracle) -> None:
    for bars in real_bars(31).values():
        expected, found = oracle(bars), evidence(bars)
        assert {name: found[name] for name in expected} == pytest.approx(
            expected, rel=1e-9, abs=1e-11, nan_ok=True
        )

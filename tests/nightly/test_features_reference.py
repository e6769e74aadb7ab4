"""The screening features compared with the reference implementation, if it is available."""

from __future__ import annotations

import datetime as dt
import importlib.util
import math
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest

from nightly.bars import Bars, to_date, to_day
from tests.nightly.series import evidence, walk

SHARED = Path(os.environ.get("SCREENER_SHARED", Path(__file__).parents[3] / "shared"))
ORACLE = SHARED / "detector_reference" / "features.py"
REAL_BARS = SHARED / "data" / "bars.parquet"
ORACLE_PREFIXES = {"dfh_": "distance_from_high_", "dfl_": "distance_from_low_"}


Oracle = Callable[[Bars], dict[str, float]]


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Oracle:
    """The reference implementation, copied beside a cache directory of its own."""
    if not ORACLE.is_file():
        pytest.skip("needs the reference implementation, see SCREENER_SHARED")
    copy = shutil.copy(ORACLE, tmp_path_factory.mktemp("oracle") / "reference_features.py")
    spec = importlib.util.spec_from_file_location("reference_features", copy)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
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


@pytest.mark.skipif(not REAL_BARS.is_file(), reason="needs real bars, see SCREENER_SHARED")
def test_all_37_columns_of_the_reference_agree_on_real_symbols(oracle: Oracle) -> None:
    for bars in _real_symbols(every=60):
        expected, found = oracle(bars), evidence(bars)
        assert {name: found[name] for name in expected} == pytest.approx(
            expected, rel=1e-9, abs=1e-11, nan_ok=True
        )


def _real_symbols(every: int) -> list[Bars]:
    frame = pl.scan_parquet(REAL_BARS)
    symbols = frame.select(pl.col("symbol").unique().sort()).collect()["symbol"].to_list()
    chosen = frame.filter(pl.col("symbol").is_in(symbols[::every])).collect()
    return [_bars_of(part) for part in chosen.partition_by("symbol", maintain_order=True)]


def _bars_of(frame: pl.DataFrame) -> Bars:
    def numbers(name: str) -> npt.NDArray[np.float64]:
        return frame[name].to_numpy().astype(np.float64)

    date = frame["date"].cast(pl.Int32).to_numpy().astype(np.int32)
    return Bars(date, *(numbers(name) for name in ("open", "high", "low", "close", "volume")))

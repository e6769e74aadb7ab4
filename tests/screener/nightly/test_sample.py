"""The sample: its unadjusted bars, its splits, and that no symbol of it is refused."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from screener import nightly
from screener.nightly.bars import to_date
from screener.nightly.cleaning.gates import suspected_splits
from screener.nightly.reference.reference import Split
from screener.nightly.sample import SAMPLE_SESSION, sample_reference, sample_source
from tests.screener.nightly.nights import cleaned_sample
from tests.screener.nightly.series import multiplied

SHIPPED = Path(nightly.__file__).parent / "shipped"
SYMBOLS = ["AAPL", "FB", "GOOG", "IBM", "MSFT"]


def test_the_sample_has_five_symbols_with_bars_and_one_without() -> None:
    assert sample_source().names() == SYMBOLS
    assert sorted(set(sample_reference().listings) - set(SYMBOLS)) == ["INTC"]
    assert set(SYMBOLS) <= set(sample_reference().listings)


def test_the_shipped_file_is_the_one_its_provenance_names_and_is_small() -> None:
    content = (SHIPPED / "sample.csv.gz").read_bytes()
    assert hashlib.sha256(content).hexdigest() in (SHIPPED / "SAMPLE.md").read_text()
    assert len(content) < 300_000


def test_the_splits_are_the_large_steps_of_the_adjusted_close() -> None:
    steps = (
        pl.read_csv(SHIPPED / "sample.csv.gz", try_parse_dates=True)
        .with_columns(factor=pl.col("Adj Close") / pl.col("Close"))
        .with_columns(step=pl.col("factor") / pl.col("factor").shift(1).over("Ticker"))
        .filter(pl.col("step") > 1.2)
    )
    found: dict[str, list[Split]] = {}
    for symbol, day, step in steps.select("Ticker", "Date", "step").iter_rows():
        found.setdefault(symbol, []).append(Split(day, round(step, 6)))
    given = {s: list(item.splits) for s, item in sample_reference().listings.items() if item.splits}
    assert given == found


def test_apple_closes_on_the_session_as_it_did() -> None:
    bars = cleaned_sample(SAMPLE_SESSION)["AAPL"].bars
    assert to_date(bars.date[-1]) == SAMPLE_SESSION
    assert bars.close[-1] == 182.37
    assert bars.close[0] == pytest.approx(130.31 / 4)
    assert bars.volume[0] == 9_616_100 * 4


def test_only_a_listing_of_later_years_is_refused_and_no_split_is_left() -> None:
    cleaned = cleaned_sample(SAMPLE_SESSION)
    assert [symbol for symbol, result in cleaned.items() if not result.covered] == ["FB"]
    for result in (one for one in cleaned.values() if one.covered):
        assert result.findings.get("unadjusted_split", 0) == 0
        assert np.abs(np.diff(np.log(result.bars.close))).max() < 0.8


def test_most_splits_planted_in_real_bars_are_found() -> None:
    planted = found = 0
    cleaned = cleaned_sample(SAMPLE_SESSION).values()
    for result in (one for one in cleaned if one.covered):
        for at in range(60, len(result.bars), 40):
            for ratio in (2.0, 3.0, 1 / 4, 1 / 10):
                planted += 1
                found += at in suspected_splits(multiplied(result.bars, at, 1 / ratio))
    assert planted > 800
    assert found / planted > 0.92

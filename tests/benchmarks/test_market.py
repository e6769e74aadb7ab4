"""The generated market is one that the data rules accept."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import polars as pl

from benchmarks import market
from benchmarks.market import write_market
from benchmarks.night import ANALYSED, LATE
from screener.nightly.cleaning.cleaning import clean
from screener.nightly.cleaning.sessions import past_window
from screener.nightly.reading.table import TableSource
from store.wire.exchanges import NEW_YORK

SYMBOLS, YEARS = 60, 20


def analysed(file: Path) -> tuple[float, float]:
    """The shares of the symbols and of the bars that the data rules leave to analyse."""
    source = TableSource(file)
    loaded = [item.bars for item in source.load(source.names())]
    window = past_window(market.LAST_SESSION, NEW_YORK)
    kept = []
    for bars in loaded:
        cleaned = clean(bars, asset_type="stock", window=window)
        doubted = cleaned.refusal is not None and cleaned.refusal.code not in LATE
        kept.append(0 if doubted else len(cleaned.bars))
    return sum(map(bool, kept)) / len(kept), sum(kept) / sum(map(len, loaded))


def test_nearly_all_of_a_generated_market_is_analysed(tmp_path: Path) -> None:
    file = tmp_path / "market.parquet"
    write_market(file, SYMBOLS, YEARS)
    assert min(analysed(file)) >= ANALYSED


def test_a_table_as_of_an_earlier_day_lacks_the_later_bars(tmp_path: Path) -> None:
    bars, earlier = tmp_path / "bars.parquet", tmp_path / "earlier.parquet"
    write_market(bars, 2, 1)
    day = market.LAST_SESSION - dt.timedelta(days=1)
    market.write_until(bars, earlier, day)
    assert pl.read_parquet(earlier)["date"].max() == dt.date(2025, 6, 27)

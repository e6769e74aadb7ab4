"""The market: the bars of each symbol, from one long table, cleaned as a night cleans them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import polars as pl

from nightly.bars import Bars, to_date
from nightly.cleaning import clean
from nightly.reference import unlisted
from nightly.sessions import past_window
from nightly.symbols import resolve

PRICES = ("open", "high", "low", "close", "volume")


def read_market(path: Path, wanted: Callable[[str], bool]) -> Mapping[str, Bars]:
    """The bars of the wanted symbols of a Parquet table, in the order of the symbols.

    A symbol is what a night serves: `BTCUSD` where the table has `BTC-USD`.
    """
    table = pl.scan_parquet(path)
    names = table.select(pl.col("symbol").unique()).collect()["symbol"].sort().to_list()
    raw_of = resolve(names).raw_of
    symbol_of = {raw: symbol for symbol, raw in sorted(raw_of.items()) if wanted(symbol)}
    rows = table.filter(pl.col("symbol").is_in(list(symbol_of))).sort("symbol", "date").collect()
    parts = {str(part["symbol"][0]): part for part in rows.partition_by("symbol")}
    market = {symbol: _bars(symbol, parts[raw]) for raw, symbol in symbol_of.items()}
    return {symbol: bars for symbol, bars in market.items() if len(bars)}


def _bars(symbol: str, part: pl.DataFrame) -> Bars:
    """The longest series of one symbol: a line is straight over the bars that the detector saw."""
    days = part["date"].cast(pl.Date).cast(pl.Int32).to_numpy()
    raw = Bars(days, *(part[name].to_numpy().astype(np.float64) for name in PRICES))
    kind = unlisted(symbol).asset_type
    window = past_window(to_date(days[-1]), kind)
    found = clean(raw, asset_type=kind, window=window).series
    return max((series.bars for series in found), key=len, default=raw.take(slice(0)))

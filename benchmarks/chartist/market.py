"""The market: the bars of each symbol, from one long table, cleaned as a night cleans them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import polars as pl

from nightly.bars import Bars
from nightly.cleaning import clean
from nightly.reference import unlisted

PRICES = ("open", "high", "low", "close", "volume")


def read_market(path: Path, wanted: Callable[[str], bool]) -> Mapping[str, Bars]:
    """The bars of the wanted symbols of a Parquet table, by symbol in alphabetical order."""
    table = pl.scan_parquet(path)
    names = table.select(pl.col("symbol").unique()).collect()["symbol"].to_list()
    chosen = sorted(name for name in names if wanted(name))
    rows = table.filter(pl.col("symbol").is_in(chosen)).sort("symbol", "date").collect()
    parts = rows.partition_by("symbol", maintain_order=True)
    market = {str(part["symbol"][0]): _bars(part) for part in parts}
    return {symbol: bars for symbol, bars in market.items() if len(bars)}


def _bars(part: pl.DataFrame) -> Bars:
    """The cleaned bars of one symbol: a line is straight over the bars that the detector saw."""
    days = part["date"].cast(pl.Date).cast(pl.Int32).to_numpy()
    raw = Bars(days, *(part[name].to_numpy().astype(np.float64) for name in PRICES))
    kind = unlisted(str(part["symbol"][0])).asset_type
    return clean(raw, asset_type=kind, as_of=int(days[-1])).bars

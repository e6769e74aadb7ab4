"""Copies of real bars under other names and at other price levels, as one Parquet table.

A market of real bars can so be made as large as wanted. Names and prices differ, so no copy shares
a digest or a checkpoint with another; patterns are the same, because they do not depend on the
price level. Tables are sorted by symbol and written in row groups.
"""

from __future__ import annotations

from pathlib import Path
from string import ascii_uppercase

import polars as pl

from benchmarks.market import ROW_GROUP
from nightly.sources.files import scan_bars

MOST = len(ascii_uppercase)
STEP = 0.07
"""By how much the prices of a copy are above those of the copy before it, as a share."""
PRICES = ("open", "high", "low", "close")


def copied(bars: pl.LazyFrame, number: int) -> pl.LazyFrame:
    """The copy of canonical bars with a number below `MOST`, sorted by symbol and date."""
    level = (1 + STEP) ** (number + 1)
    return bars.select(
        (pl.lit(ascii_uppercase[number]) + pl.col("symbol")).alias("symbol"),
        pl.col("date").cast(pl.Date),
        *(pl.col(name) * level for name in PRICES),
        "volume",
    ).sort("symbol", "date")


def write_copies(source: Path, file: Path, copies: int) -> None:
    """Write copies of a table of bars."""
    bars = scan_bars(source).rows
    parts = file.with_suffix(".parts")
    parts.mkdir()
    for number in range(copies):
        copied(bars, number).sink_parquet(parts / f"{number:02}.parquet")
    pl.scan_parquet(parts / "*.parquet").sink_parquet(file, row_group_size=ROW_GROUP)
    for part in parts.iterdir():
        part.unlink()
    parts.rmdir()


def write_reference(source: Path, file: Path, copies: int) -> None:
    """Write the reference table of the same copies; its column of names is `symbol`."""
    listed = pl.scan_parquet(source) if source.suffix == ".parquet" else pl.scan_csv(source)
    named = [
        listed.with_columns(symbol=pl.lit(ascii_uppercase[number]) + pl.col("symbol"))
        for number in range(copies)
    ]
    pl.concat(named).sink_parquet(file)

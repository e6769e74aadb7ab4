"""Files: how one CSV or Parquet file is read as bars, and identified.

Nothing here judges a bar; a row without a date and a repeated date are counted, because bars have
one row a date.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from nightly.bars import Bars
from nightly.columns import bar_columns, day_of
from nightly.errors import SourceError
from nightly.sources.source import NUMBERS

CSV: Final = (".csv", ".csv.gz")
PARQUET: Final = (".parquet", ".pq")


def suffix_of(file: Path) -> str | None:
    """The suffix by which a file is read as bars, as it is spelled; None if it is not."""
    if file.name.startswith("."):
        return None
    lowered = file.name.lower()
    suffix = next((end for end in (*CSV, *PARQUET) if lowered.endswith(end)), None)
    return file.name[-len(suffix) :] if suffix else None


def scan_bars(file: Path) -> tuple[pl.LazyFrame, bool]:
    """The bars of a file with canonical columns, unread, and whether it has a symbol column.

    Raises:
        SourceError: the file is no CSV or Parquet file, or a column is missing.
    """
    suffix = suffix_of(file)
    if suffix is None:
        raise SourceError(f"{file} is neither CSV nor Parquet; convert it to one of them.")
    frame = _scan_csv(file) if suffix.lower() in CSV else pl.scan_parquet(file, glob=False)
    schema = frame.collect_schema()
    columns = bar_columns(schema.names())
    picked = [day_of(columns["date"], schema[columns["date"]]).alias("date")]
    picked += [_number(columns[name], schema).alias(name) for name in NUMBERS]
    if "symbol" in columns:
        picked.append(_text(columns["symbol"], schema).alias("symbol"))
    return frame.select(picked), "symbol" in columns


def _scan_csv(file: Path) -> pl.LazyFrame:
    """A CSV file whose columns of bars have their types, so that an odd cell is a null."""
    header = pl.scan_csv(file, infer_schema=False, glob=False).collect_schema().names()
    columns = bar_columns(header)
    types: dict[str, type[pl.DataType]] = {columns[name]: pl.Float64 for name in NUMBERS}
    types.update({columns[name]: pl.String for name in ("date", "symbol") if name in columns})
    return pl.scan_csv(
        file,
        infer_schema=False,
        schema_overrides=types,
        ignore_errors=True,
        truncate_ragged_lines=True,
        encoding="utf8-lossy",
        glob=False,
    )


def _number(column: str, schema: pl.Schema) -> pl.Expr:
    values = pl.col(column)
    return values if schema[column] == pl.Float64 else values.cast(pl.Float64, strict=False)


def _text(column: str, schema: pl.Schema) -> pl.Expr:
    # A cast would hide the column from the statistics of the row groups.
    values = pl.col(column)
    return values if schema[column] == pl.String else values.cast(pl.String)


def to_bars(frame: pl.DataFrame) -> tuple[Bars, dict[str, int]]:
    """The bars of one symbol, sorted; rows without a date dropped, of repeated dates the last kept.

    Both are counted, as `undated_row` and `repeated_date`. A missing number becomes a NaN.
    """
    findings: dict[str, int] = {}
    undated = frame["date"].null_count()
    if undated:
        findings["undated_row"] = undated
        frame = frame.drop_nulls("date")
    days = frame["date"].to_numpy()
    steps = np.diff(days)
    order: slice | np.ndarray = slice(None)
    if (steps <= 0).any():
        order = np.argsort(days, kind="stable")
        last = np.append(np.diff(days[order]) != 0, True)
        if not last.all():
            findings["repeated_date"] = int(np.count_nonzero(~last))
        order = order[last]
    numbers = (frame[name].to_numpy()[order] for name in NUMBERS)
    return Bars(days[order], *numbers), findings


def file_digest(file: Path) -> str:
    """The SHA-256 of a file's bytes, in hex.

    Raises:
        SourceError: the file cannot be read.
    """
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise SourceError(f"{file} cannot be read ({type(error).__name__}).") from error

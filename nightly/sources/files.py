"""Files: identify one CSV, Parquet or Arrow file, and read it as bars.

Nothing here judges a bar, except that rows without a date and repeated dates are removed and
counted, because bars have one row per date.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from nightly.bars import Bars
from nightly.columns import bar_columns, bar_expressions
from nightly.errors import SourceError
from nightly.sources.source import NUMBERS

MAGIC: Final[Mapping[bytes, str]] = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
    b"\x1f\x8b": "gzip",
}
CSV: Final = (".csv", ".csv.gz")
PARQUET: Final = (".parquet", ".pq")
CSV_OPTIONS: Final[Mapping[str, Any]] = {
    "ignore_errors": True,
    "truncate_ragged_lines": True,
    "encoding": "utf8-lossy",
}


def suffix_of(file: Path) -> str | None:
    """The suffix that marks a file as CSV or Parquet, as it is spelled; None without one."""
    if file.name.startswith("."):
        return None
    lowered = file.name.lower()
    suffix = next((end for end in (*CSV, *PARQUET) if lowered.endswith(end)), None)
    return file.name[-len(suffix) :] if suffix else None


def magic(start: bytes) -> str | None:
    """The kind of a file by its first bytes, regardless of its name; None for text or unknown."""
    known = next((kind for mark, kind in MAGIC.items() if start.startswith(mark)), None)
    return "tar" if known is None and start[257:262] == b"ustar" else known


def scan_bars(file: Path) -> tuple[pl.LazyFrame, bool]:
    """The bars of a file, lazily, with canonical columns; and whether it has a symbol column.

    Raises:
        SourceError: the file is not a table, or a column is missing.
    """
    frame = scan_table(file)
    schema = frame.collect_schema()
    picked = frame.select(*bar_expressions(schema))
    return picked, "symbol" in picked.collect_schema()


def scan_table(file: Path) -> pl.LazyFrame:
    """A CSV, Parquet or Arrow file, lazily, with its own columns.

    Raises:
        SourceError: the file has another format, or a column of bars is missing.
    """
    with file.open("rb") as stream:
        kind = magic(stream.read(512))
    suffix = (suffix_of(file) or "").lower()
    if kind == "parquet" or (kind is None and suffix in PARQUET):
        return pl.scan_parquet(file, glob=False)
    if kind == "arrow":
        return pl.scan_ipc(file)
    if suffix in CSV:
        return _scan_csv(file)
    raise SourceError(f"{file} is neither CSV nor Parquet; convert it to one of them.")


def _scan_csv(file: Path) -> pl.LazyFrame:
    """A CSV file with types set for the columns of bars, so that a bad cell becomes null."""
    header = pl.scan_csv(file, infer_schema=False, glob=False).collect_schema().names()
    return pl.scan_csv(
        file, infer_schema=False, schema_overrides=csv_types(header), glob=False, **CSV_OPTIONS
    )


def csv_types(header: Sequence[str]) -> dict[str, type[pl.DataType]]:
    """The types of the columns of bars. Dates are strings: a float would lose nanoseconds.

    Raises:
        SourceError: a column of the bars is missing.
    """
    columns = bar_columns(header)
    types: dict[str, type[pl.DataType]] = {columns[name]: pl.Float64 for name in NUMBERS}
    types.update({columns[name]: pl.String for name in ("date", "symbol") if name in columns})
    return types


def to_bars(frame: pl.DataFrame) -> tuple[Bars, dict[str, int]]:
    """The bars of one symbol, sorted by date.

    Rows without a date are dropped and counted as `undated_row`. Of rows with the same date the
    last is kept; the others count as `repeated_date`. A missing number becomes NaN.
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

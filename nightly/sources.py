"""Sources: where raw bars come from, a folder of files or one long table.

A source is a small picklable value: a worker process gets the value and the names of its symbols
and reads those itself. Nothing here judges a bar; a row without a date and a repeated date are
counted, because bars have one row a date.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

import numpy as np
import polars as pl

from nightly.bars import Bars
from nightly.columns import BARS, bar_columns, day_of
from nightly.errors import Refusal, SourceError
from nightly.symbols import normalise

CSV: Final = (".csv", ".csv.gz")
PARQUET: Final = (".parquet", ".pq")
NUMBERS: Final = BARS[1:]

EMPTY: Final = Bars(np.zeros(0, np.int32), *(np.zeros(0) for _ in NUMBERS))


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """What a source has for one raw name: its bars as they are, what was counted on the way, or
    why there are none.
    """

    name: str
    bars: Bars = EMPTY
    findings: Mapping[str, int] = field(default_factory=dict)
    refusal: Refusal | None = None


class BarSource(Protocol):
    """A place that holds the daily bars of many symbols, under raw names of its own."""

    def names(self) -> list[str]:
        """Every raw name, sorted; symbols near each other are cheapest to load together."""
        ...

    def load(self, names: Sequence[str]) -> Iterator[Loaded]:
        """The bars of some names, in their order, reading as little else as the format allows."""
        ...

    def last_days(self) -> dict[str, int]:
        """The day number of the newest bar of each raw name that has one, as cheaply as it goes."""
        ...

    def digest(self) -> str:
        """The SHA-256 of everything that the source reads, in hex."""
        ...


def open_source(path: Path) -> BarSource:
    """The source that a path holds: a folder with one file a symbol, or one table of all.

    Raises:
        SourceError: there is nothing to read, or no name in it can be a symbol.
    """
    source: BarSource
    if path.is_dir():
        source = FolderSource(path)
    elif path.is_file():
        source = TableSource(path)
    else:
        raise SourceError(f"{path} does not exist; name a folder of bars or one table.")
    if not any(normalise(name) for name in source.names()):
        raise SourceError(f"{path} has no symbol of letters, digits and dots; check its names.")
    return source


@dataclass(frozen=True, slots=True)
class FolderSource:
    """A folder with one CSV or Parquet file a symbol, named after it."""

    path: Path

    def names(self) -> list[str]:
        """The stem of each file of bars."""
        names = sorted(self._files())
        if not names:
            raise SourceError(f"{self.path} has no CSV or Parquet file; put one a symbol there.")
        return names

    def load(self, names: Sequence[str]) -> Iterator[Loaded]:
        """Read one file a name; a file that cannot be read is a refusal of its symbol."""
        files = self._files()
        for name in names:
            yield self._read(name, files.get(name, []))

    def last_days(self) -> dict[str, int]:
        """The newest day of each file that can be read, from its date column alone."""
        found: dict[str, int] = {}
        for name, files in self._files().items():
            try:
                newest = scan_bars(files[0])[0].select(pl.col("date").max()).collect().item()
            except (SourceError, pl.exceptions.PolarsError, OSError):
                continue  # loading it says why
            if newest is not None:
                found[name] = newest
        return found

    def digest(self) -> str:
        """The SHA-256 over the sorted file names and what they hold."""
        total = hashlib.sha256()
        for file in sorted(file for files in self._files().values() for file in files):
            total.update(file.name.encode() + b"\0" + file_digest(file).encode() + b"\n")
        return total.hexdigest()

    def _files(self) -> dict[str, list[Path]]:
        files: dict[str, list[Path]] = {}
        for file in sorted(self.path.iterdir()):
            suffix = suffix_of(file)
            if suffix and file.is_file():
                files.setdefault(file.name[: -len(suffix)], []).append(file)
        return files

    def _read(self, name: str, files: Sequence[Path]) -> Loaded:
        if not files:
            return Loaded(name, refusal=Refusal("no_bars", "The folder has no file of this name."))
        try:
            frame = scan_bars(files[0])[0].collect()
        except SourceError as error:
            return Loaded(name, refusal=Refusal("unreadable_file", str(error)))
        except (pl.exceptions.PolarsError, OSError) as error:
            reason = f"The file cannot be read ({type(error).__name__}); write it again."
            return Loaded(name, refusal=Refusal("unreadable_file", reason))
        bars, findings = to_bars(frame)
        if len(files) > 1:
            findings["second_file"] = len(files) - 1
        return Loaded(name, bars, findings)


@dataclass(frozen=True, slots=True)
class TableSource:
    """One long CSV or Parquet table with a symbol column.

    A Parquet table sorted by symbol is read by row group, so loading all symbols in batches costs
    little more than one read; any other table is scanned whole for each batch.
    """

    path: Path

    def names(self) -> list[str]:
        """Every value of the symbol column."""
        frame = self._collect(self._scan().select(pl.col("symbol").unique()))
        return sorted(name for name in frame["symbol"].drop_nulls().to_list() if name)

    def load(self, names: Sequence[str]) -> Iterator[Loaded]:
        """Read the rows of some names in one scan.

        Raises:
            SourceError: the table cannot be read.
        """
        rows = self._scan().filter(pl.col("symbol").is_in(list(names)))
        frame = self._collect(rows)
        parts = frame.partition_by("symbol", as_dict=True, include_key=False)
        for name in names:
            part = parts.get((name,))
            if part is None:
                reason = "The table has no row of this name."
                yield Loaded(name, refusal=Refusal("no_bars", reason))
            else:
                yield Loaded(name, *to_bars(part))

    def last_days(self) -> dict[str, int]:
        """The newest day of each symbol, from two columns."""
        newest = self._scan().group_by("symbol").agg(pl.col("date").max())
        frame = self._collect(newest.drop_nulls())
        return dict(zip(frame["symbol"].to_list(), frame["date"].to_list(), strict=True))

    def digest(self) -> str:
        """The SHA-256 of the file."""
        return file_digest(self.path)

    def _scan(self) -> pl.LazyFrame:
        try:
            frame, has_symbol = scan_bars(self.path)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise self._unreadable(error) from error
        if not has_symbol:
            raise SourceError(f"{self.path} has no column symbol; add one or pass a folder.")
        return frame

    def _collect(self, frame: pl.LazyFrame) -> pl.DataFrame:
        try:
            return frame.collect()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> SourceError:
        return SourceError(f"{self.path} cannot be read ({type(error).__name__}); write it again.")


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

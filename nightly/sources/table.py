"""The table: the bars of many symbols in one long file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import polars as pl

from nightly.errors import Refusal, SourceError
from nightly.sources.files import file_digest, scan_bars, to_bars
from nightly.sources.layout import Layout
from nightly.sources.raw import BROKEN
from nightly.sources.source import Loaded, Outline

OUTLINE: Final = (
    pl.col("date").max().cast(pl.Int32).alias("last_day"),
    pl.col("date").count().alias("bars"),
    ((pl.col("date").cast(pl.Int32) + 3) % 7 >= 5).sum().alias("on_weekends"),
)
"""The arguments of `Outline.of`, from the days of one symbol."""

SURVEYED: Final = 500_000
"""Rows that a survey holds at a time: 10 MB."""
_UNDATED: Final = np.iinfo(np.int32).min


@dataclass(frozen=True, slots=True)
class TableSource:
    """One long CSV or Parquet table with a symbol column.

    A Parquet table sorted by symbol is read by row groups, so loading all symbols in batches costs
    little more than one read. Any other table is scanned completely for each batch.
    """

    path: Path
    known: Mapping[str, Outline | None] | None = field(default=None, compare=False, repr=False)
    """Every name with its outline, if the table was surveyed."""

    def __reduce__(self) -> tuple[type[TableSource], tuple[Path]]:
        # A worker process is told its names and needs no outlines.
        return TableSource, (self.path,)

    def names(self) -> list[str]:
        """Every distinct value of the symbol column, sorted."""
        return sorted(self._known())

    def load(self, names: Sequence[str]) -> Iterator[Loaded]:
        """Read the rows of some names in one scan.

        Raises:
            SourceError: the table cannot be read.
        """
        with readable(self.path):
            parts = rows_by_symbol(layout := scan_symbols(self.path), names)
        for name in names:
            part = parts.get(name)
            if part is None:
                reason = "The table has no row of this name."
                yield Loaded(name, refusal=Refusal("no_bars", reason))
            else:
                yield Loaded(name, *to_bars(part), layout.adjustment, layout.currency)

    def outlines(self) -> dict[str, Outline]:
        """The outline of each symbol; this reads only two columns."""
        return {name: outline for name, outline in self._known().items() if outline is not None}

    def digest(self) -> str:
        """The SHA-256 of the file."""
        return file_digest(self.path)

    def _known(self) -> Mapping[str, Outline | None]:
        return survey(self.path).outlines if self.known is None else self.known


class Survey(NamedTuple):
    """What two columns of a table tell."""

    outlines: Mapping[str, Outline | None]
    """By name: its outline, None if it has no dated row."""
    runs: int
    """How often the symbol changes from one row to the next: of a sorted table, once for each."""
    nameless: int
    """Rows without a symbol."""


def survey(path: Path) -> Survey:
    """Read the symbols and the dates of a table once, a part at a time.

    Raises:
        SourceError: the table cannot be read or has no symbol column.
    """
    runs, last, parts = 0, None, []
    with readable(path):
        rows = scan_symbols(path).rows.select("symbol", "date")
        for batch in rows.collect_batches(chunk_size=SURVEYED, maintain_order=True):
            if not len(batch):
                continue
            found = _runs(batch)
            runs += len(found) - (runs > 0 and found["symbol"][0] == last)
            last = found["symbol"][-1]
            parts.append(_sums(found))
    if not parts:
        return Survey({}, 0, 0)
    outlines: dict[str, Outline | None] = {}
    nameless = 0
    for name, last_day, number, bars, on_weekends in _sums(pl.concat(parts)).iter_rows():
        if name:
            outlines[name] = Outline.of(last_day, bars, on_weekends) if bars else None
        else:
            nameless += number
    return Survey(outlines, runs, nameless)


def _runs(batch: pl.DataFrame) -> pl.DataFrame:
    """For each run of rows of one symbol: the arguments of its outline, and its rows."""
    runs = batch["symbol"].rle().struct.unnest()
    starts = np.append(0, runs["len"].to_numpy().cumsum(dtype=np.int64)[:-1])
    days = batch["date"].fill_null(_UNDATED).to_numpy()
    dated = days != _UNDATED
    weekend = dated & ((days + 3) % 7 >= 5)
    return pl.DataFrame(
        {
            "symbol": runs["value"],
            "last_day": np.maximum.reduceat(days, starts),
            "rows": runs["len"].cast(pl.Int64),
            "bars": np.add.reduceat(dated, starts, dtype=np.int64),
            "on_weekends": np.add.reduceat(weekend, starts, dtype=np.int64),
        }
    )


def _sums(runs: pl.DataFrame) -> pl.DataFrame:
    sums = pl.col("rows", "bars", "on_weekends").sum()
    return runs.group_by("symbol").agg(pl.col("last_day").max(), sums)


def scan_symbols(path: Path) -> Layout:
    """The canonical columns of a table of many symbols, lazily.

    Raises:
        SourceError: it has no symbol column, or lacks one of the bars.
    """
    layout = scan_bars(path)
    if not layout.has_symbol:
        raise SourceError(f"{path} has no column symbol; add one or pass a folder.")
    return layout


def check_plain(columns: Mapping[str, pl.DataType], label: str) -> None:
    """Check that no column of the bars holds structs or lists.

    Raises:
        SourceError: one does.
    """
    for name, kind in columns.items():
        if kind.is_nested():
            raise SourceError(
                f"{label} has no plain values in its column {name}; write texts, dates as "
                "YYYY-MM-DD and numbers."
            )


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turn what polars raises over a file into one line.

    Raises:
        SourceError: the file cannot be read.
    """
    try:
        yield
    except BROKEN as error:
        raise SourceError(
            f"{path} cannot be read ({type(error).__name__}); write it again."
        ) from error


def rows_by_symbol(layout: Layout, names: Sequence[str]) -> dict[str, pl.DataFrame]:
    """The rows of some symbols. Where they lie together, as in a sorted table, none is copied."""
    frame = layout.rows.filter(pl.col("symbol").is_in(list(names))).collect()
    runs = frame["symbol"].rle().struct.unnest()
    if runs["value"].is_duplicated().any():
        parts = frame.partition_by("symbol", as_dict=True, include_key=False)
        return {str(name): part for (name,), part in parts.items()}
    starts = [0, *runs["len"].cum_sum().to_list()]
    rows = frame.drop("symbol")
    return {
        name: rows.slice(start, length)
        for start, (length, name) in zip(starts, runs.iter_rows(), strict=False)
    }

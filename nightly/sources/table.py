"""The table: the bars of many symbols in one long file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from nightly.errors import Refusal, SourceError
from nightly.sources.files import file_digest, scan_bars, to_bars
from nightly.sources.layout import Layout
from nightly.sources.raw import BROKEN
from nightly.sources.source import Loaded, Outline

OUTLINE: Final = (
    pl.col("date").max().cast(pl.Int32).alias("last_day"),
    pl.len().alias("bars"),
    ((pl.col("date").cast(pl.Int32) + 3) % 7 >= 5).sum().alias("on_weekends"),
)
"""The arguments of `Outline.of`, from the days of one symbol."""


@dataclass(frozen=True, slots=True)
class TableSource:
    """One long CSV or Parquet table with a symbol column.

    A Parquet table sorted by symbol is read by row groups, so loading all symbols in batches costs
    little more than one read. Any other table is scanned completely for each batch.
    """

    path: Path

    def names(self) -> list[str]:
        """Every distinct value of the symbol column, sorted."""
        frame = self._collect(self._scan().rows.select(pl.col("symbol").unique()))
        return sorted(name for name in frame["symbol"].drop_nulls().to_list() if name)

    def load(self, names: Sequence[str]) -> Iterator[Loaded]:
        """Read the rows of some names in one scan.

        Raises:
            SourceError: the table cannot be read.
        """
        layout = self._scan()
        frame = self._collect(layout.rows.filter(pl.col("symbol").is_in(list(names))))
        parts = frame.partition_by("symbol", as_dict=True, include_key=False)
        for name in names:
            part = parts.get((name,))
            if part is None:
                reason = "The table has no row of this name."
                yield Loaded(name, refusal=Refusal("no_bars", reason))
            else:
                yield Loaded(name, *to_bars(part), layout.adjustment, layout.currency)

    def outlines(self) -> dict[str, Outline]:
        """The outline of each symbol; this reads only two columns."""
        dated = self._scan().rows.select("symbol", "date").drop_nulls()
        rows = self._collect(dated.group_by("symbol").agg(*OUTLINE)).iter_rows()
        return {name: Outline.of(*facts) for name, *facts in rows}

    def digest(self) -> str:
        """The SHA-256 of the file."""
        return file_digest(self.path)

    def _scan(self) -> Layout:
        try:
            layout = scan_bars(self.path)
        except BROKEN as error:
            raise self._unreadable(error) from error
        if not layout.has_symbol:
            raise SourceError(f"{self.path} has no column symbol; add one or pass a folder.")
        return layout

    def _collect(self, frame: pl.LazyFrame) -> pl.DataFrame:
        try:
            return frame.collect()
        except BROKEN as error:
            raise self._unreadable(error) from error

    def _unreadable(self, error: Exception) -> SourceError:
        return SourceError(f"{self.path} cannot be read ({type(error).__name__}); write it again.")

"""The table: the bars of many symbols in one long file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from screener.nightly.errors import RefusedInput, SourceError
from screener.nightly.reading.files import file_digest
from screener.nightly.reading.formats import readable, scan_bars
from screener.nightly.reading.sorting import by_symbol
from screener.nightly.reading.source import Loaded, Outline, outline_columns, to_bars
from screener.nightly.tables.layout import BarsTable

NEAR: Final = 8_192
"""Ranges of rows with fewer rows between them are read together."""

Place = tuple[int, int]
"""Where the rows of a symbol lie together in a table: the first, and the one behind the last."""


class Survey(NamedTuple):
    """What two columns of a table tell."""

    outlines: Mapping[str, Outline | None]
    """By name: its outline, None if it has no dated row."""
    places: Mapping[str, Place]
    """By name: where its rows are, if they lie together."""
    rows: int
    """All rows."""
    nameless: int
    """Rows without a symbol."""

    @property
    def together(self) -> bool:
        """Whether the rows of every symbol lie together, so that a batch reads its own alone."""
        return len(self.places) == len(self.outlines)


@dataclass(frozen=True)
class TableSource:
    """One long CSV or Parquet table with a symbol column.

    From a Parquet table only the row groups that are needed are read, so loading all symbols of a
    sorted one in batches costs little more than one read. Any other table is scanned completely for
    each batch.
    """

    path: Path
    places: Mapping[str, Place] = field(default_factory=dict, repr=False)
    """Where the rows of some names lie together."""

    @cached_property
    def survey(self) -> Survey:
        """What the symbols and the dates tell, which are read once, a part at a time.

        Raises:
            SourceError: the table cannot be read or has no symbol column.
        """
        with readable(self.path):
            rows = scan_symbols(self.path).rows.select("symbol", "date").with_row_index("row")
            sums = rows.group_by("symbol").agg(
                pl.col("row").min().alias("start"),
                pl.col("row").max().alias("last"),
                pl.len().alias("rows"),
                *outline_columns(),
            )
            found = sums.collect(engine="streaming")
        outlines: dict[str, Outline | None] = {}
        places: dict[str, Place] = {}
        nameless = 0
        for name, start, last, number, *facts in found.iter_rows():
            if not name:
                nameless += number
                continue
            dated = facts[1]
            outlines[name] = Outline.of(*facts) if dated else None
            if last + 1 - start == number:
                places[name] = start, last + 1
        return Survey(outlines, places, int(found["rows"].sum()), nameless)

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of the file, in hex."""
        return file_digest(self.path)

    def names(self) -> list[str]:
        """Every distinct value of the symbol column, sorted."""
        return sorted(self.survey.outlines)

    def part(self, names: Sequence[str]) -> TableSource:
        """The table, with the places of some names."""
        places = self.survey.places
        return TableSource(self.path, {name: places[name] for name in names if name in places})

    def load(self, names: Sequence[str]) -> Iterator[Loaded]:
        """Read the rows of some names.

        Raises:
            SourceError: the table cannot be read.
        """
        with readable(self.path):
            table = scan_symbols(self.path)
            if all(name in self.places for name in names):
                parts = _slices(table.rows, {name: self.places[name] for name in names})
            else:
                parts = by_symbol(table.rows.filter(pl.col("symbol").is_in(list(names))).collect())
        for name in names:
            part = parts.get(name)
            if part is None:
                reason = "The table has no row of this name."
                yield Loaded(name, refusal=RefusedInput("no_bars", reason))
            else:
                yield Loaded(name, *to_bars(part), table.adjustment, table.currency)

    def outlines(self) -> dict[str, Outline]:
        """The outline of each symbol; this reads only two columns."""
        known = self.survey.outlines.items()
        return {name: outline for name, outline in known if outline is not None}

    def digest(self) -> str:
        """The SHA-256 of the file, which is read once."""
        return self.sha256


def scan_symbols(path: Path) -> BarsTable:
    """The canonical columns of a table of many symbols, lazily.

    Raises:
        SourceError: it has no symbol column, or lacks one of the bars.
    """
    table = scan_bars(path)
    if not table.has_symbol:
        raise SourceError(f"{path} has no column symbol; add one or pass a folder.")
    return table


def _slices(rows: pl.LazyFrame, places: Mapping[str, Place]) -> dict[str, pl.DataFrame]:
    """The rows of some symbols, from where they lie together in a table."""
    parts: dict[str, pl.DataFrame] = {}
    for start, names in _ranges(places):
        end = places[names[-1]][1]
        read = rows.drop("symbol").slice(start, end - start).collect()
        for name in names:
            first, behind = places[name]
            parts[name] = read.slice(first - start, behind - first)
    return parts


def _ranges(places: Mapping[str, Place]) -> Iterable[tuple[int, list[str]]]:
    """The first row of each range that is read at once, and the names whose rows it holds."""
    ranges: list[tuple[int, list[str]]] = []
    for name, (start, _) in sorted(places.items(), key=lambda item: item[1]):
        if ranges and start - places[ranges[-1][1][-1]][1] < NEAR:
            ranges[-1][1].append(name)
        else:
            ranges.append((start, [name]))
    return ranges

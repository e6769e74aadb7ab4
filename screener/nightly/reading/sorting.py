"""The external sort: bars of any form, sorted by symbol into a folder of the run, and their source.

It needs memory for a few million rows, however many there are: it writes sorted runs and merges
them by ranges of names into parts. Reading a few symbols costs only as much as those symbols, since
each part holds neighbours. A part is named by the digest of its bytes. Thus what comes from another
machine can be checked.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final

import polars as pl

from screener.nightly.bars import Adjustment
from screener.nightly.errors import RefusedInput, SourceError
from screener.nightly.reading.files import file_digest
from screener.nightly.reading.formats import readable
from screener.nightly.reading.source import NUMBERS, Loaded, Outline, outline_columns, to_bars
from screener.nightly.tables.layout import TIME

RUN_ROWS: Final = 2_000_000
"""Rows held in memory at once: 120 MB."""
PART_ROWS: Final = 262_144
"""The most rows of a part, unless one symbol has more: 10 MB."""
GROUP_ROWS: Final = 65_536

_OF_THE_DISK: Final = re.compile(r"\(os error (\d+)\)")
"""How polars tells the error number of what the system refused."""


@dataclass(slots=True)
class IndexEntry:
    """What is known of a symbol: the part with its rows, or why it has none."""

    findings: Mapping[str, int] = field(default_factory=dict)
    refusal: RefusedInput | None = None
    rows: int = 0
    part: str | None = None
    outline: Outline | None = None
    adjustment: Adjustment | None = None
    currency: str | None = None

    def add(self, rows: int, adjustment: Adjustment | None, currency: str | None) -> None:
        """Add some rows, and what their file tells of their prices, unless another tells
        otherwise.
        """
        first = not self.rows
        self.rows += rows
        self.adjustment = adjustment if first or adjustment == self.adjustment else None
        self.currency = currency if first or currency == self.currency else None


class ExternalSort:
    """Writes a folder that a `SortedSource` reads: add rows in any order, then call `finish`.

    Rows of one symbol keep the order in which they were added, so of a repeated date the last one
    counts.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.nameless = 0
        """Rows without a symbol, which are left out."""
        self._index: dict[str, IndexEntry] = {}
        self._held: list[pl.DataFrame] = []
        self._runs: list[Path] = []
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise _unwritten(folder, error) from error

    def note(self, name: str, findings: Mapping[str, int], refusal: RefusedInput | None) -> None:
        """Remember the findings and the refusal of a name."""
        entry = self._index.setdefault(name, IndexEntry())
        entry.findings, entry.refusal = findings, refusal

    def add(
        self,
        frame: pl.DataFrame,
        adjustment: Adjustment | None = None,
        currency: str | None = None,
    ) -> None:
        """Add canonical rows of some symbols, and what their file tells of its prices.

        Raises:
            SourceError: the folder cannot be written.
        """
        rows = frame.filter(pl.col("symbol").str.len_bytes() > 0).select(
            "symbol", "date", *NUMBERS, pl.col(f"^{TIME}$")
        )
        self.nameless += len(frame) - len(rows)
        for name, number in rows.group_by("symbol").len().iter_rows():
            self._index.setdefault(name, IndexEntry()).add(number, adjustment, currency)
        self._held.append(rows)
        if sum(map(len, self._held)) >= RUN_ROWS:
            self._write_run()

    def finish(self, digest: str) -> SortedSource:
        """Merge the runs and return a source that reads the result.

        Raises:
            SourceError: the folder cannot be written.
        """
        if self._held:
            self._write_run()
        with_rows = [name for name, entry in self._index.items() if entry.rows]
        for names in self._ranges(with_rows, RUN_ROWS):
            self._merge(names)
        for run in self._runs:
            run.unlink()
        return SortedSource(partial(_read_part, self._folder), self._index, digest)

    def _write_run(self) -> None:
        run = self._folder / f"run-{len(self._runs):05}.parquet"
        self._write(pl.concat(self._held, how="diagonal").sort("symbol", maintain_order=True), run)
        self._runs.append(run)
        self._held = []

    def _merge(self, names: Sequence[str]) -> None:
        """Write the rows of neighbouring names, out of all runs, into parts."""
        mine = _within(names)
        scans = [pl.scan_parquet(run, glob=False).filter(mine) for run in self._runs]
        rows = pl.concat(scans, how="diagonal").collect().sort("symbol", maintain_order=True)
        for some in self._ranges(names, PART_ROWS):
            self._write_part(rows.filter(_within(some)))

    def _write_part(self, rows: pl.DataFrame) -> None:
        new = self._folder / "new.parquet"
        self._write(rows, new)
        part = self._named(new)
        for name, *facts in rows.group_by("symbol").agg(*outline_columns()).iter_rows():
            entry = self._index[name]
            entry.part = part
            if facts[0] is not None:
                entry.outline = Outline.of(*facts)

    def _named(self, new: Path) -> str:
        """The name of a new file, which is renamed after its digest."""
        name = file_digest(new) + new.suffix
        new.rename(self._folder / name)
        return name

    def _ranges(self, names: Iterable[str], most: int) -> Iterator[list[str]]:
        """Some names, sorted and split into ranges of so many rows, or of one name with more."""
        taken: list[str] = []
        held = 0
        for name in sorted(names):
            rows = self._index[name].rows
            if taken and held + rows > most:
                yield taken
                taken, held = [], 0
            taken.append(name)
            held += rows
        if taken:
            yield taken

    def _write(self, rows: pl.DataFrame, path: Path) -> None:
        try:
            rows.write_parquet(path, compression="lz4", row_group_size=GROUP_ROWS)
        except (pl.exceptions.PolarsError, OSError) as error:
            raise _unwritten(self._folder, error) from _of_the_disk(error)


def _within(names: Sequence[str]) -> pl.Expr:
    return pl.col("symbol").is_between(pl.lit(names[0]), pl.lit(names[-1]))


def _of_the_disk(error: Exception) -> Exception:
    """What the system refused, of which polars tells the number in words alone."""
    told = _OF_THE_DISK.search(str(error))
    return OSError(int(told[1]), os.strerror(int(told[1]))) if told else error


def _unwritten(folder: Path, error: Exception) -> SourceError:
    return SourceError(
        f"The bars cannot be sorted in {folder} ({type(error).__name__}); make room there."
    )


def _read_part(folder: Path, name: str) -> bytes:
    """The bytes of a part in a folder of this machine, or in one that all workers see alike."""
    try:
        return (folder / name).read_bytes()
    except OSError as error:
        raise SourceError(
            f"The sorted bars in {folder} cannot be read ({type(error).__name__}); "
            "workers of other machines need SCREENER_SCRATCH_URL."
        ) from error


@dataclass(frozen=True, slots=True)
class SortedSource:
    """Bars that were sorted into parts, with the digest of the original source."""

    read: Callable[[str], bytes]
    """Reads a part by its name, in any process; raises `SourceError`."""
    index: Mapping[str, IndexEntry]
    origin_digest: str

    def names(self) -> list[str]:
        """Every name, sorted."""
        return sorted(self.index)

    def part(self, names: Sequence[str]) -> SortedSource:
        """The source with what is known of some names alone."""
        return replace(self, index={name: self.index[name] for name in names})

    def load(self, names: Sequence[str]) -> Iterator[Loaded]:
        """Read the bars of some names; each part file is read once."""
        parts: dict[str, dict[str, pl.DataFrame]] = {}
        for name in names:
            entry = self.index.get(name)
            if entry is None:
                reason = "The source has no bars of this name."
                yield Loaded(name, refusal=RefusedInput("no_bars", reason))
            elif entry.part is None:
                yield Loaded(name, findings=entry.findings, refusal=entry.refusal)
            else:
                if entry.part not in parts:
                    parts[entry.part] = self._rows(entry.part)
                bars, findings, refusal = to_bars(parts[entry.part][name])
                findings |= entry.findings
                yield Loaded(name, bars, findings, refusal, entry.adjustment, entry.currency)

    def outlines(self) -> dict[str, Outline]:
        """The outline of each name that has bars."""
        known = self.index.items()
        return {name: entry.outline for name, entry in known if entry.outline is not None}

    def digest(self) -> str:
        """The digest of the original source."""
        return self.origin_digest

    def _rows(self, part: str) -> dict[str, pl.DataFrame]:
        with readable(Path(part)):
            return by_symbol(pl.read_parquet(io.BytesIO(self.read(part))))


def by_symbol(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The rows of each symbol. Where they lie together, as in a sorted table, none is copied."""
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

"""The spill: sorts bars of any form by symbol into a temporary folder of the run.

It needs memory for a few million rows, however many there are: it writes sorted runs and merges
them by ranges of names. `nightly.sources.spilled` reads the result.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import orjson
import polars as pl

from nightly.bars import Adjustment
from nightly.errors import Refusal, SourceError
from nightly.sources.files import file_digest
from nightly.sources.layout import TIME
from nightly.sources.source import NUMBERS, Outline
from nightly.sources.spilled import Disk, Entry, Leaf, SpilledSource
from nightly.sources.table import OUTLINE

RUN_ROWS: Final = 2_000_000
"""Rows held in memory at once: 120 MB."""
PART_ROWS: Final = 262_144
"""The most rows of a part, unless one symbol has more: 10 MB."""
GROUP_ROWS: Final = 65_536
LEAF_NAMES: Final = 1024
"""The names in one file of the index."""


class Spill:
    """Writes a folder that a `SpilledSource` reads: add rows in any order, then call `finish`.

    Rows of one symbol keep the order in which they were added, so of a repeated date the last one
    counts.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.nameless = 0
        """Rows without a symbol, which are left out."""
        self._index: dict[str, Entry] = {}
        self._facts: dict[str, tuple[Adjustment | None, str | None]] = {}
        self._rows: dict[str, int] = {}
        self._held: list[pl.DataFrame] = []
        self._runs: list[Path] = []
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise _full(folder, error) from error

    def note(self, name: str, findings: Mapping[str, int], refusal: Refusal | None) -> None:
        """Remember the findings and the refusal of a name."""
        self._index[name] = Entry(findings=findings, refusal=refusal)

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
            pl.col("symbol"), pl.col("date").cast(pl.Date), *NUMBERS, pl.col(f"^{TIME}$")
        )
        self.nameless += len(frame) - len(rows)
        if adjustment or currency:
            for name in rows["symbol"].unique():
                self._tell(name, adjustment, currency)
        for name, number in rows.group_by("symbol").len().iter_rows():
            self._rows[name] = self._rows.get(name, 0) + number
        self._held.append(rows)
        if sum(map(len, self._held)) >= RUN_ROWS:
            self._write_run()

    def _tell(self, name: str, adjustment: Adjustment | None, currency: str | None) -> None:
        """Remember what a file tells of the prices of a name, unless another tells otherwise."""
        known = self._facts.setdefault(name, (adjustment, currency))
        if known != (adjustment, currency):
            self._facts[name] = (
                adjustment if known[0] == adjustment else None,
                currency if known[1] == currency else None,
            )

    def finish(self, digest: str) -> SpilledSource:
        """Merge the runs and return a source that reads the result.

        Raises:
            SourceError: the folder cannot be written.
        """
        if self._held:
            self._write_run()
        for names in _ranges(self._rows, self._rows.keys(), RUN_ROWS):
            self._merge(names)
        for run in self._runs:
            run.unlink()
        return SpilledSource(Disk(self._folder), tuple(self._write_leaves()), digest)

    def _write_run(self) -> None:
        run = self._folder / f"run-{len(self._runs):05}.parquet"
        _write(pl.concat(self._held, how="diagonal").sort("symbol", maintain_order=True), run)
        self._runs.append(run)
        self._held = []

    def _merge(self, names: Sequence[str]) -> None:
        """Write the rows of neighbouring names, out of all runs, into parts."""
        mine = _within(names)
        scans = [pl.scan_parquet(run, glob=False).filter(mine) for run in self._runs]
        rows = pl.concat(scans, how="diagonal").collect().sort("symbol", maintain_order=True)
        for some in _ranges(self._rows, names, PART_ROWS):
            self._write_part(rows.filter(_within(some)))

    def _write_part(self, rows: pl.DataFrame) -> None:
        new = self._folder / "new.parquet"
        _write(rows, new)
        part = self._named(new)
        dated = rows.drop_nulls("date").group_by("symbol").agg(*OUTLINE).iter_rows()
        outlines = {name: Outline.of(*facts) for name, *facts in dated}
        for name in rows["symbol"].unique():
            noted = self._index.get(name, Entry())
            facts = self._facts.get(name, (None, None))
            self._index[name] = Entry(part, outlines.get(name), noted.findings, None, *facts)

    def _write_leaves(self) -> Iterator[Leaf]:
        names = sorted(self._index)
        for start in range(0, len(names), LEAF_NAMES):
            some = names[start : start + LEAF_NAMES]
            new = self._folder / "new.json"
            try:
                new.write_bytes(orjson.dumps({name: self._index[name] for name in some}))
            except OSError as error:
                raise _full(self._folder, error) from error
            yield Leaf(some[0], self._named(new))

    def _named(self, new: Path) -> str:
        """The name of a new file, which is renamed after its digest."""
        name = file_digest(new) + new.suffix
        new.rename(self._folder / name)
        return name


def _within(names: Sequence[str]) -> pl.Expr:
    return pl.col("symbol").is_between(pl.lit(names[0]), pl.lit(names[-1]))


def _ranges(rows: Mapping[str, int], among: Iterable[str], most: int) -> Iterable[list[str]]:
    """Some names, sorted and split into ranges of so many rows, or of one name with more."""
    names: list[str] = []
    held = 0
    for name in sorted(among):
        if names and held + rows[name] > most:
            yield names
            names, held = [], 0
        names.append(name)
        held += rows[name]
    if names:
        yield names


def _write(rows: pl.DataFrame, path: Path) -> None:
    try:
        rows.write_parquet(path, compression="lz4", row_group_size=GROUP_ROWS)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise _full(path.parent, error) from error


def _full(folder: Path, error: Exception) -> SourceError:
    return SourceError(
        f"The bars cannot be sorted in {folder} ({type(error).__name__}); make room there."
    )

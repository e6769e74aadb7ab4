"""The spill: bars of any form, sorted by symbol into a temporary folder of the run.

Reading a few symbols from it then costs only as much as those symbols. Sorting needs memory for a
few million rows, however many there are: it writes sorted runs and merges them by ranges of names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import orjson
import polars as pl

from nightly.bars import Adjustment
from nightly.errors import Refusal, SourceError
from nightly.sources.layout import TIME
from nightly.sources.source import NUMBERS, Loaded, Outline
from nightly.sources.table import OUTLINE, TableSource

RUN_ROWS: Final = 2_000_000
"""Rows held in memory at once: 120 MB."""
GROUP_ROWS: Final = 65_536
INDEX: Final = "index.json"


@dataclass(frozen=True, slots=True)
class Entry:
    """The part file of a symbol's rows, its outline, and its findings or refusal so far."""

    part: str | None = None
    outline: Outline | None = None
    findings: Mapping[str, int] = field(default_factory=dict)
    refusal: Refusal | None = None
    adjustment: Adjustment | None = None
    currency: str | None = None


@dataclass(frozen=True, slots=True)
class SpilledSource:
    """Bars that were sorted into a folder, with the digest of the original source."""

    folder: Path
    origin_digest: str

    def names(self) -> list[str]:
        """Every name in the folder, sorted."""
        return sorted(self._index())

    def load(self, names: Sequence[str]) -> Iterator[Loaded]:
        """Read the bars of some names; each part file is read once."""
        index = self._index(names)
        parts: dict[str, list[str]] = {}
        for name in names:
            if name in index and (part := index[name].part):
                parts.setdefault(part, []).append(name)
        found = {
            loaded.name: loaded
            for part, mine in parts.items()
            for loaded in TableSource(self.folder / part).load(mine)
        }
        for name in names:
            yield _noted(name, index.get(name), found.get(name))

    def outlines(self) -> dict[str, Outline]:
        """The outline of each name that has bars."""
        known = self._index().items()
        return {name: entry.outline for name, entry in known if entry.outline is not None}

    def digest(self) -> str:
        """The digest of the original source."""
        return self.origin_digest

    def _index(self, names: Iterable[str] | None = None) -> dict[str, Entry]:
        """The entries of some names, or of all."""
        stored = orjson.loads((self.folder / INDEX).read_bytes())
        wanted = stored if names is None else (name for name in names if name in stored)
        return {name: _entry(stored[name]) for name in wanted}


def _noted(name: str, entry: Entry | None, loaded: Loaded | None) -> Loaded:
    if entry is None:
        return Loaded(name, refusal=Refusal("no_bars", "The source has no bars of this name."))
    if loaded is None:
        return Loaded(name, refusal=entry.refusal, findings=entry.findings)
    findings = {**loaded.findings, **entry.findings}
    return Loaded(name, loaded.bars, findings, loaded.refusal, entry.adjustment, entry.currency)


def _entry(value: Mapping[str, object]) -> Entry:
    fields = dict(value)
    if fields.get("refusal"):
        fields["refusal"] = Refusal(**fields["refusal"])  # type: ignore[arg-type]
    if fields.get("outline"):
        fields["outline"] = Outline(**fields["outline"])  # type: ignore[arg-type]
    return Entry(**fields)  # type: ignore[arg-type]


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
        for number, names in enumerate(_ranges(self._rows)):
            self._write_part(f"part-{number:05}.parquet", names)
        for run in self._runs:
            run.unlink()
        content = orjson.dumps(dict(sorted(self._index.items())))
        try:
            (self._folder / INDEX).write_bytes(content)
        except OSError as error:
            raise _full(self._folder, error) from error
        return SpilledSource(self._folder, digest)

    def _write_run(self) -> None:
        run = self._folder / f"run-{len(self._runs):05}.parquet"
        _write(pl.concat(self._held, how="diagonal").sort("symbol", maintain_order=True), run)
        self._runs.append(run)
        self._held = []

    def _write_part(self, part: str, names: Sequence[str]) -> None:
        mine = pl.col("symbol").is_between(pl.lit(names[0]), pl.lit(names[-1]))
        scans = [pl.scan_parquet(run, glob=False).filter(mine) for run in self._runs]
        rows = pl.concat(scans, how="diagonal").collect().sort("symbol", maintain_order=True)
        _write(rows, self._folder / part)
        dated = rows.drop_nulls("date").group_by("symbol").agg(*OUTLINE).iter_rows()
        outlines = {name: Outline.of(*facts) for name, *facts in dated}
        for name in rows["symbol"].unique():
            noted = self._index.get(name, Entry())
            facts = self._facts.get(name, (None, None))
            self._index[name] = Entry(part, outlines.get(name), noted.findings, None, *facts)


def _ranges(rows: Mapping[str, int]) -> Iterable[list[str]]:
    """The sorted names, split into ranges whose rows fit into memory."""
    names: list[str] = []
    held = 0
    for name in sorted(rows):
        if names and held + rows[name] > RUN_ROWS:
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

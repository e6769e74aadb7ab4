"""The spill: bars of any form, sorted by symbol into a temporary folder of the run.

Reading a few symbols from it then costs only as much as those symbols. Sorting needs memory for a
few million rows, however many there are: it writes sorted runs and merges them by ranges of names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    """Bars that were sorted into a folder, with the digest of the original source.

    `adjustment` and `currency` are those of names whose entries have none.
    """

    folder: Path
    origin_digest: str
    adjustment: Adjustment | None = None
    currency: str | None = None

    def names(self) -> list[str]:
        """Every name in the folder, sorted."""
        return sorted(self._index())

    def load(self, names: Sequence[str]) -> Iterator[Loaded]:
        """Read the bars of some names; each part file is read once."""
        index = self._index()
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
            loaded = _noted(name, index.get(name), found.get(name))
            yield replace(
                loaded,
                adjustment=loaded.adjustment or self.adjustment,
                currency=loaded.currency or self.currency,
            )

    def outlines(self) -> dict[str, Outline]:
        """The outline of each name that has bars."""
        known = self._index().items()
        return {name: entry.outline for name, entry in known if entry.outline is not None}

    def digest(self) -> str:
        """The digest of the original source."""
        return self.origin_digest

    def _index(self) -> dict[str, Entry]:
        stored = orjson.loads((self.folder / INDEX).read_bytes())
        return {name: _entry(value) for name, value in stored.items()}


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
        self._index: dict[str, Entry] = {}
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

    def tell(self, name: str, adjustment: Adjustment | None, currency: str | None) -> None:
        """Remember what is known of the prices of a name."""
        noted = self._index.get(name, Entry())
        self._index[name] = replace(noted, adjustment=adjustment, currency=currency)

    def add(self, frame: pl.DataFrame) -> None:
        """Add canonical rows of some symbols.

        Raises:
            SourceError: the folder cannot be written.
        """
        rows = frame.filter(pl.col("symbol").str.len_bytes() > 0).select(
            pl.col("symbol"), pl.col("date").cast(pl.Date), *NUMBERS, pl.col(f"^{TIME}$")
        )
        for name, number in rows.group_by("symbol").len().iter_rows():
            self._rows[name] = self._rows.get(name, 0) + number
        self._held.append(rows)
        if sum(map(len, self._held)) >= RUN_ROWS:
            self._write_run()

    def finish(
        self, digest: str, adjustment: Adjustment | None = None, currency: str | None = None
    ) -> SpilledSource:
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
        return SpilledSource(self._folder, digest, adjustment, currency)

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
            self._index[name] = replace(noted, part=part, outline=outlines.get(name), refusal=None)


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

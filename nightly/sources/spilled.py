"""The spilled source: reads bars that were sorted by symbol into parts.

Reading a few symbols costs only as much as those symbols, since each part holds neighbours, and so
does each leaf of the index. A file is named by the digest of its bytes. Thus what comes from
another machine can be checked.
"""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

import orjson
import polars as pl

from nightly.bars import Adjustment
from nightly.errors import Refusal, SourceError
from nightly.sources.files import to_bars
from nightly.sources.layout import lay_out
from nightly.sources.raw import Raw
from nightly.sources.source import Loaded, Outline
from nightly.sources.table import readable, rows_by_symbol


class Files(Protocol):
    """Where the parts and the leaves of the index are: a small picklable value."""

    def read(self, name: str) -> bytes:
        """The bytes of a file.

        Raises:
            SourceError: it cannot be read, or is not what was written.
        """
        ...


@dataclass(frozen=True, slots=True)
class Disk:
    """A folder of this machine, or one that all workers see under the same path."""

    folder: Path

    def read(self, name: str) -> bytes:
        """The bytes of a file, as `Files.read`."""
        try:
            return (self.folder / name).read_bytes()
        except OSError as error:
            raise SourceError(
                f"The sorted bars in {self.folder} cannot be read ({type(error).__name__}); "
                "workers of other machines need SCREENER_SCRATCH_URL."
            ) from error


class Leaf(NamedTuple):
    """A file of the index, and the first name in it."""

    first: str
    file: str


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
    """Bars that were sorted into parts, with the digest of the original source."""

    files: Files
    leaves: Sequence[Leaf]
    origin_digest: str

    def names(self) -> list[str]:
        """Every name, sorted."""
        return sorted(self._index())

    def load(self, names: Sequence[str]) -> Iterator[Loaded]:
        """Read the bars of some names; each part file is read once."""
        index = self._index(names)
        parts: dict[str, list[str]] = {}
        for name in names:
            if name in index and (part := index[name].part):
                parts.setdefault(part, []).append(name)
        found: dict[str, Loaded] = {}
        for part, mine in parts.items():
            found |= self._load(part, mine)
        for name in names:
            yield _noted(name, index.get(name), found.get(name))

    def outlines(self) -> dict[str, Outline]:
        """The outline of each name that has bars."""
        known = self._index().items()
        return {name: entry.outline for name, entry in known if entry.outline is not None}

    def digest(self) -> str:
        """The digest of the original source."""
        return self.origin_digest

    def _load(self, part: str, names: Sequence[str]) -> dict[str, Loaded]:
        with readable(Path(part)):
            rows = pl.scan_parquet(io.BytesIO(self.files.read(part)))
            found = rows_by_symbol(lay_out(Raw(part, rows, "table")), names)
        return {name: Loaded(name, *to_bars(found[name])) for name in names}

    def _index(self, names: Iterable[str] | None = None) -> dict[str, Entry]:
        """The entries of some names, or of all."""
        if names is None:
            return {name: entry for leaf in self.leaves for name, entry in self._leaf(leaf)}
        asked: dict[Leaf, list[str]] = {}
        for name in names if self.leaves else ():
            # Before the first leaf there is no name, which the last one can say as well.
            place = bisect_right(self.leaves, name, key=lambda leaf: leaf.first) - 1
            asked.setdefault(self.leaves[place], []).append(name)
        return {
            name: entry for leaf, mine in asked.items() for name, entry in self._leaf(leaf, mine)
        }

    def _leaf(self, leaf: Leaf, names: Iterable[str] | None = None) -> Iterator[tuple[str, Entry]]:
        stored = orjson.loads(self.files.read(leaf.file))
        for name in stored if names is None else names:
            if name in stored:
                yield name, _entry(stored[name])


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

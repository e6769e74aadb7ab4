"""The folder: files with bars of one symbol each, in folders or in a zip."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import polars as pl

from nightly.bars import Adjustment
from nightly.errors import Refusal, SourceError
from nightly.sources.files import file_digest, to_bars
from nightly.sources.forms import Read, read_bars
from nightly.sources.names import DAILY, FileName, read_name
from nightly.sources.pieces import Piece, Shelf, pieces_of
from nightly.sources.source import Loaded, Outline
from nightly.sources.table import OUTLINE

Fact = TypeVar("Fact")

AT_HOME: Final = ("US", "V")
"""Stooq's suffixes for American listings and for crypto."""


@dataclass(frozen=True, slots=True)
class Part:
    """One file of a symbol, with the parts of its name."""

    piece: Piece
    named: FileName


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """The raw rows of one symbol from all its files, or why there are none."""

    name: str
    reads: Sequence[Read] = ()
    findings: Mapping[str, int] | None = None
    refusal: Refusal | None = None

    @property
    def frame(self) -> pl.DataFrame:
        """The rows of all files, in the order in which the files were read."""
        frames = [read.frame.drop("symbol", strict=False) for read in self.reads]
        return pl.concat(frames, how="diagonal")

    @property
    def adjustment(self) -> Adjustment | None:
        """What the prices of all files are adjusted for; None if unknown or not the same."""
        return _common(read.adjustment for read in self.reads)

    @property
    def currency(self) -> str | None:
        """The currency of all files; None if unknown or not the same."""
        return _common(read.currency for read in self.reads)

    def loaded(self) -> Loaded:
        """The bars in the rows."""
        if self.refusal is not None:
            return Loaded(self.name, refusal=self.refusal, findings=self.findings or {})
        bars, findings, refusal = to_bars(self.frame)
        findings |= self.findings or {}
        return Loaded(self.name, bars, findings, refusal, self.adjustment, self.currency)


@dataclass(frozen=True, slots=True)
class FolderSource:
    """A zip, or a folder with its subfolders, whose files are named after their symbols.

    A symbol may have one file, or several for months and days. Of several, later periods overrule
    earlier ones, and days overrule months.
    """

    path: Path

    def names(self) -> list[str]:
        """The symbol in the name of each file of bars."""
        names = sorted(self._parts())
        if not names:
            raise SourceError(f"{self.path} has no CSV or Parquet file; put one per symbol there.")
        return names

    def load(self, names: Sequence[str]) -> Iterator[Loaded]:
        """Read the files of each name. A file that cannot be read refuses its symbol."""
        for gathered in self.gather(names):
            yield gathered.loaded()

    def outlines(self) -> dict[str, Outline]:
        """The outline of each symbol. This reads every file."""
        found: dict[str, Outline] = {}
        for gathered in self.gather(self.names()):
            if gathered.refusal is None and len(dated := gathered.frame.drop_nulls("date")):
                found[gathered.name] = Outline.of(*dated.select(*OUTLINE).row(0))
        return found

    def digest(self) -> str:
        """The SHA-256 over the sorted relative paths and the digests of all files."""
        total = hashlib.sha256()
        files = {part.piece.path for parts in self._parts().values() for part in parts}
        for file in sorted(files):
            below = file.relative_to(self.path).as_posix() if file != self.path else ""
            total.update(os.fsencode(below) + b"\0" + file_digest(file).encode() + b"\n")
        return total.hexdigest()

    def gather(self, names: Sequence[str]) -> Iterator[Gathered]:
        """The rows of some names, in their order."""
        parts = self._parts()
        with Shelf() as shelf:
            for name in names:
                yield _gather(name, parts.get(name, []), shelf)

    def _parts(self) -> dict[str, list[Part]]:
        parts: dict[str, list[Part]] = {}
        for piece in pieces_of(self.path):
            named = read_name(piece.label)
            if named is not None:
                parts.setdefault(named.symbol, []).append(Part(piece, named))
        return parts


def _gather(name: str, parts: Sequence[Part], shelf: Shelf) -> Gathered:
    if not parts:
        return Gathered(name, refusal=Refusal("no_bars", "The folder has no file of this name."))
    daily = [part for part in parts if part.named.interval == DAILY and part.named.price]
    if not daily:
        label, interval = parts[0].piece.label, parts[0].named.interval
        reason = f"{label} holds no daily prices ({interval}); only {DAILY} can be read."
        return Gathered(name, refusal=Refusal("other_interval", reason))
    findings = _count("other_interval", len(parts) - len(daily))
    series = sorted((part for part in daily if part.named.period), key=_order)
    if not series:
        series, findings = daily[:1], findings | _count("second_file", len(daily) - 1)
    try:
        reads = [_read(part, shelf) for part in series]
    except SourceError as error:
        refusal = Refusal("unreadable_file", str(error))
        return Gathered(name, findings=findings, refusal=refusal)
    foreign = stooq_refusal(name) if reads[0].form == "Stooq" else None
    stated = next((read.refusal for read in reads if read.refusal), None)
    return Gathered(name, reads, findings, stated or foreign)


def _common(values: Iterable[Fact]) -> Fact | None:
    known = set(values)
    return known.pop() if len(known) == 1 else None


def _order(part: Part) -> tuple[int, str]:
    """The sort key of periods: months before days, so that a day's own file overrules its month."""
    return len(part.named.period), part.named.period


def _count(rule: str, number: int) -> dict[str, int]:
    return {rule: number} if number else {}


def _read(part: Part, shelf: Shelf) -> Read:
    label = part.piece.label
    read = read_bars(shelf.read(part.piece), label=label)
    if "symbol" in read.frame.columns and read.frame["symbol"].n_unique() > 1:
        raise SourceError(f"{label} holds many symbols; pass it as one table.")
    return read


def stooq_refusal(name: str) -> Refusal | None:
    """Refuse a Stooq symbol that is listed abroad, because its trading days differ."""
    country = name.upper().rpartition(".")[2] if "." in name else "US"
    if country in AT_HOME:
        return None
    return Refusal("foreign_listing", f"Stooq lists it under .{country}; only .US and .V are read.")

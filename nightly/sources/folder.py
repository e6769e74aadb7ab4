"""The folder: files of bars in folders or in a zip, or one such file alone."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar

import polars as pl

from nightly.bars import Adjustment
from nightly.errors import Refusal, SourceError
from nightly.sources.files import to_bars
from nightly.sources.forms import Read, read_bars
from nightly.sources.names import DAILY, FileName, read_name
from nightly.sources.pieces import Piece, Shelf, pieces_of
from nightly.sources.regular import open_regular
from nightly.sources.source import Loaded, Outline
from nightly.sources.table import OUTLINE, check_plain
from nightly.sources.vendors import MASSIVE, STOOQ
from nightly.symbols import normalise

Fact = TypeVar("Fact")

AT_HOME: Final = ("US", "V")
"""Stooq's suffixes for American listings and for crypto."""
HOME: Final = f".{AT_HOME[0]}"


@dataclass(frozen=True, slots=True)
class Part:
    """One file, with the parts of its name."""

    piece: Piece
    named: FileName


@dataclass(frozen=True, slots=True, eq=False)
class Many:
    """One file that gives the symbols of its rows, usually many."""

    label: str
    read: Read


@dataclass(frozen=True, slots=True, eq=False)
class Gathered:
    """The raw rows of one symbol from all its files, or why there are none."""

    name: str
    reads: Sequence[Read] = ()
    findings: Mapping[str, int] = field(default_factory=dict)
    refusal: Refusal | None = None
    left: Mapping[str, Refusal] = field(default_factory=dict)
    """Its files that were not read and why, by label."""
    label: str = ""
    """Its first file that was read, or else its first file."""

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
        if self.refusal is not None or not self.reads:
            many = Refusal("unreadable_file", "Its file gives its own symbols.")
            return Loaded(self.name, refusal=self.refusal or many, findings=self.findings)
        bars, findings, refusal = to_bars(self.frame)
        findings |= self.findings
        return Loaded(self.name, bars, findings, refusal, self.adjustment, self.currency)


@dataclass(frozen=True, slots=True)
class FolderSource:
    """A zip, a folder with its subfolders, or one file, named after the symbols.

    A symbol may have one file, or several for months and days. Of several, later periods overrule
    earlier ones, and days overrule months. Files that give their own symbols can be gathered but
    not loaded.
    """

    path: Path
    symbol: str | None = None
    """The symbol of the only file, in place of the one in its name."""

    def names(self) -> list[str]:
        """The symbol in the name of each file of bars; the name itself if it gives none.

        Raises:
            SourceError: there is no file of bars, or `symbol` is to name several.
        """
        names = sorted(self._parts())
        if not names:
            raise SourceError(f"{self.path} has no CSV or Parquet file; put one per symbol there.")
        return names

    def load(self, names: Sequence[str]) -> Iterator[Loaded]:
        """Read the files of each name. A file that cannot be read refuses its symbol."""
        for gathered in self.gather(names):
            if isinstance(gathered, Gathered):
                yield gathered.loaded()

    def outlines(self) -> dict[str, Outline]:
        """The outline of each symbol. This reads every file."""
        found: dict[str, Outline] = {}
        for gathered in self.gather(self.names()):
            if isinstance(gathered, Many) or gathered.refusal or not gathered.reads:
                continue
            if len(dated := gathered.frame.drop_nulls("date")):
                found[gathered.name] = Outline.of(*dated.select(*OUTLINE).row(0))
        return found

    def digest(self) -> str:
        """The SHA-256 over `symbol`, the sorted relative paths and the digests of all files that
        are read.
        """
        total = hashlib.sha256((self.symbol or "").encode())
        pieces = (part.piece for parts in self._parts().values() for part in parts)
        files = {(each.path, each.below): bool(each.trouble and not each.member) for each in pieces}
        for (file, below), left in sorted(files.items()):
            digest = _UNREAD if left else _digest(file)
            total.update(os.fsencode(below) + b"\0" + digest + b"\n")
        return total.hexdigest()

    def gather(self, names: Sequence[str]) -> Iterator[Gathered | Many]:
        """The rows of some names, in their order: after their files of many symbols, one `Gathered`
        for each name.
        """
        parts = self._parts()
        with Shelf() as shelf:
            for name in names:
                yield from _gather(name, parts.get(name, []), shelf)

    def _parts(self) -> dict[str, list[Part]]:
        pieces = pieces_of(self.path)
        if self.symbol is not None and len(pieces) != 1:
            raise SourceError(
                f"--symbol names one series, but {self.path} holds {len(pieces):,} files; leave "
                "--symbol out, and name the files after their symbols."
            )
        parts: dict[str, list[Part]] = {}
        for piece in pieces:
            named = read_name(piece.label) or FileName("", "")
            if piece.path == self.path and not (piece.member or named.suffix):
                named = FileName(self.path.stem, self.path.suffix)  # given itself, so it is bars
            if self.symbol is not None:
                named = replace(named, symbol=self.symbol)
            parts.setdefault(named.symbol or piece.label, []).append(Part(piece, named))
        return parts


_UNREAD: Final = b"unreadable"
"""In place of the digest of a file without which the night does: on this alone it depends."""


def _digest(file: Path) -> bytes:
    try:
        with open_regular(file, str(file)) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest().encode()
    except (SourceError, OSError):
        return _UNREAD


@dataclass(slots=True)
class _Taken:
    """What was taken of the files of one name so far."""

    name: str
    reads: list[Read] = field(default_factory=list)
    labels: list[str] = field(default_factory=list)
    left: dict[str, Refusal] = field(default_factory=dict)

    def take(self, part: Part, read: Read) -> None:
        """Add every period, and the first file without one."""
        label = part.piece.label
        if not part.named.symbol:
            reason = part.named.unnamed or f"{label} gives no symbol; {_NAME_IT}"
            self.left[label] = Refusal("bad_symbol", reason)
        elif part.named.period or not self.reads:
            self.reads.append(read)
            self.labels.append(label)
        else:
            reason = f"{label} is another file for {self.name}; {_REMOVE}"
            self.left[label] = Refusal("duplicate_symbol", reason)


def _gather(name: str, parts: Sequence[Part], shelf: Shelf) -> Iterator[Gathered | Many]:
    """The tables among the files of a name, then its rows."""
    daily = [part for part in parts if part.named.interval == DAILY and part.named.price]
    if not daily:
        yield Gathered(name, refusal=_no_file(parts))
        return
    taken = _Taken(name)
    for part in sorted(daily, key=_order):
        try:
            read = _read(part, shelf)
        except SourceError as error:
            taken.left[part.piece.label] = Refusal("unreadable_file", str(error))
            continue
        if holds_many(read, part.named):
            yield Many(part.piece.label, read)
        else:
            taken.take(part, read)
    findings = _count("other_interval", len(parts) - len(daily))
    findings |= _count("second_file", len(taken.left) if taken.reads else 0)
    refusal = _refusal(name, daily, taken)
    first = next(iter([*taken.labels, *taken.left]), name)
    yield Gathered(name, taken.reads, findings, refusal, taken.left, first)


_NAME_IT: Final = "name the file after it, add a column symbol, or give the file alone to --symbol."
_REMOVE: Final = "only the first is read, so remove one of them."


def _refusal(name: str, daily: Sequence[Part], taken: _Taken) -> Refusal | None:
    """Why the rows of a symbol cannot be used: none could be read, or a period is absent."""
    periods = {part.piece.label for part in daily if part.named.period}
    for label, refusal in taken.left.items():
        if refusal.code != "duplicate_symbol" and (label in periods or not taken.reads):
            return refusal
    stated = next((read.refusal for read in taken.reads if read.refusal), None)
    if stated is not None:
        return stated
    return stooq_refusal(name) if taken.reads and taken.reads[0].form == STOOQ else None


def _no_file(parts: Sequence[Part]) -> Refusal:
    if not parts:
        return Refusal("no_bars", "The folder has no file of this name.")
    label, interval = parts[0].piece.label, parts[0].named.interval
    reason = f"{label} holds no daily prices ({interval}); only {DAILY} can be read."
    return Refusal("other_interval", reason)


def _common(values: Iterable[Fact]) -> Fact | None:
    known = set(values)
    return known.pop() if len(known) == 1 else None


def _order(part: Part) -> tuple[bool, int, str]:
    """The sort key of files: periods first, months before days, so that a day's own file overrules
    its month.
    """
    return not part.named.period, len(part.named.period), part.named.period


def _count(rule: str, number: int) -> dict[str, int]:
    return {rule: number} if number else {}


def _read(part: Part, shelf: Shelf) -> Read:
    """Read one file; whatever goes wrong is a `SourceError` that names the file."""
    label = part.piece.label
    data = shelf.read(part.piece)
    try:
        read = read_bars(data, label=label)
        check_plain(read.frame.schema, label)
    except SourceError as error:
        raise error if label in str(error) else SourceError(f"{label}: {error}") from error
    # The file is a stranger's, and the libraries that read it may raise anything.
    except (Exception, pl.exceptions.PanicException) as error:
        said = f"{label} cannot be read ({type(error).__name__}); write it again."
        raise SourceError(said) from error
    return read


def holds_many(read: Read, named: FileName) -> bool:
    """Whether a file gives its own symbols: several of them, or one that its name does not give."""
    if "symbol" not in read.frame.columns:
        return False
    if read.form == MASSIVE or not named.symbol:
        return True
    if read.symbol is None:
        return bool(read.frame["symbol"].drop_nulls().n_unique() > 1)
    own = normalise(at_home(read.symbol) if read.form == STOOQ else read.symbol)
    return own not in (None, normalise(named.symbol), normalise(at_home(named.symbol)))


def at_home(name: str) -> str:
    """A Stooq symbol without the country, if that is the United States."""
    return name[: -len(HOME)] if name.upper().endswith(HOME) else name


def stooq_refusal(name: str) -> Refusal | None:
    """Refuse a Stooq symbol that is listed abroad, because its trading days differ."""
    country = name.upper().rpartition(".")[2] if "." in name else "US"
    if country in AT_HOME:
        return None
    return Refusal("foreign_listing", f"Stooq lists it under .{country}; only .US and .V are read.")

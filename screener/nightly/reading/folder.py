"""The folder: files of bars in folders or in a zip, or one such file alone."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, TypeVar

import polars as pl

from screener.nightly.bars import Adjustment
from screener.nightly.errors import RefusedInput, SourceError
from screener.nightly.reading.files import file_digest
from screener.nightly.reading.formats import read_bars
from screener.nightly.reading.pieces import Piece, PieceReader, pieces_of
from screener.nightly.reading.seams import goes_on, parted
from screener.nightly.reading.source import to_bars
from screener.nightly.symbols import normalise
from screener.nightly.tables.layout import BarsTable
from screener.nightly.tables.names import DAILY, FileName, read_name
from screener.nightly.tables.raw import MASSIVE, STOOQ
from store.wire.exchanges import exchange_of

Fact = TypeVar("Fact")

AT_HOME: Final = ("US", "V")
"""Stooq's suffixes for American listings and for crypto."""


@dataclass(frozen=True, slots=True)
class BarsFile:
    """One file, with the parts of its name."""

    piece: Piece
    named: FileName


@dataclass(slots=True, eq=False)
class SymbolFiles:
    """The tables of one symbol from all its files, or why there are none."""

    name: str
    tables: list[BarsTable] = field(default_factory=list)
    findings: dict[str, int] = field(default_factory=dict)
    refusal: RefusedInput | None = None
    skipped: dict[str, RefusedInput] = field(default_factory=dict)
    """Its files that were not read and why, by label."""

    def add(self, file: BarsFile, table: BarsTable) -> None:
        """Add every period, the first file without one, and each that goes on from it."""
        label = file.piece.label
        if not file.named.symbol:
            reason = file.named.unnamed or f"{label} gives no symbol; {_NAME_IT}"
            self.skipped[label] = RefusedInput("bad_symbol", reason, len(table.frame))
        elif file.named.period or not self.tables:
            self.tables.append(table)
        elif len(self.tables) == 1 and _intraday(self.tables[0]) and not _intraday(table):
            other = self.tables.pop()
            self.tables.append(table)
            reason = f"{other.label} is not daily; {label} is read in its place."
            self.skipped[other.label] = RefusedInput("duplicate_symbol", reason, len(other.frame))
        elif goes_on(self.tables, table) and not _intraday(table):
            self.tables.append(table)
        else:
            self._leave(label, table)

    def _leave(self, label: str, table: BarsTable) -> None:
        """Leave out another file; what is newer than the first must not be passed over."""
        reason = f"{label} is another file for {self.name}; {_REMOVE}"
        self.skipped[label] = RefusedInput("duplicate_symbol", reason, len(table.frame))
        last = self.frame["date"].max()
        newer = table.frame.filter(pl.col("date") > last)
        if len(newer) and not _intraday(table):
            reason = (
                f"{label} ends later than {self.label}, and their prices differ on common dates; "
                "remove one of them."
            )
            self.refusal = RefusedInput("parted_files", reason)

    @property
    def label(self) -> str:
        """Its first file that was read, or else its first file."""
        return next(iter([*(table.label for table in self.tables), *self.skipped]), self.name)

    @property
    def frame(self) -> pl.DataFrame:
        """The rows of all files, in the order in which the files were read."""
        frames = [table.frame.drop("symbol", strict=False) for table in self.tables]
        return pl.concat(frames, how="diagonal")

    @property
    def adjustment(self) -> Adjustment | None:
        """What the prices of all files are adjusted for; None if unknown or not the same."""
        return _common(table.adjustment for table in self.tables)

    @property
    def currency(self) -> str | None:
        """The currency of all files; None if unknown or not the same."""
        return _common(table.currency for table in self.tables)


@dataclass(frozen=True, slots=True)
class BarsFolder:
    """A zip, a folder with its subfolders, or one file, named after the symbols.

    A symbol may have one file, or several for months and days. Later periods overrule earlier ones,
    and days overrule months.
    """

    path: Path
    symbol: str | None = None
    """The symbol of the only file, in place of the one in its name."""
    only: str | None = None
    """The one name whose files are read; None for all."""

    def names(self) -> list[str]:
        """The symbol in the name of each file of bars; the name itself if it gives none.

        Raises:
            SourceError: there is no file of bars, or `symbol` is to name several.
        """
        names = sorted(self._files())
        if not names:
            raise SourceError(f"{self.path} has no CSV or Parquet file; put one per symbol there.")
        return names

    def digest(self) -> str:
        """The SHA-256 over `symbol`, the sorted relative paths and the digests of all files that
        are read.
        """
        total = hashlib.sha256((self.symbol or "").encode())
        pieces = (file.piece for files in self._files().values() for file in files)
        files = {(each.path, each.below): bool(each.trouble and not each.member) for each in pieces}
        for (file, below), left in sorted(files.items()):
            digest = _UNREAD if left else _digest(file)
            total.update(os.fsencode(below) + b"\0" + digest + b"\n")
        return total.hexdigest()

    def gather(self, names: Sequence[str]) -> Iterator[SymbolFiles | BarsTable]:
        """The tables of some names, in their order: first of each name its files that give their
        own symbols, then the others together.

        Raises:
            SourceError: a file gives its own symbols, but `symbol` is to name it.
        """
        files = self._files()
        with closing(PieceReader()) as reader:
            for name in names:
                yield from self._gather(name, files.get(name, []), reader)

    def _gather(
        self, name: str, files: Sequence[BarsFile], reader: PieceReader
    ) -> Iterator[SymbolFiles | BarsTable]:
        daily = [file for file in files if file.named.interval == DAILY and file.named.price]
        if not daily:
            yield SymbolFiles(name, refusal=_no_file(files))
            return
        found = SymbolFiles(name)
        for file in sorted(daily, key=_order):
            try:
                table = _read(file, reader)
            except SourceError as error:
                found.skipped[file.piece.label] = RefusedInput("unreadable_file", str(error))
                continue
            if self.symbol is not None and table.has_symbol:
                raise SourceError(
                    f"{self.path} has a column symbol, so --symbol cannot name its bars; leave "
                    "--symbol out."
                )
            if holds_many(table, file.named):
                yield table
            else:
                found.add(file, table)
        if others := len(files) - len(daily):
            found.findings["other_interval"] = others
        if found.tables and found.skipped:
            found.findings["second_file"] = len(found.skipped)
        found.refusal = found.refusal or _refusal(found, daily)
        yield found

    def _files(self) -> dict[str, list[BarsFile]]:
        pieces = pieces_of(self.path)
        if self.symbol is not None and len(pieces) != 1:
            raise SourceError(
                f"--symbol names one series, but {self.path} holds {len(pieces):,} files; leave "
                "--symbol out, and name the files after their symbols."
            )
        files: dict[str, list[BarsFile]] = {}
        for piece in pieces:
            named = read_name(piece.label) or FileName("", "")
            if piece.path == self.path and not (piece.member or named.suffix):
                named = FileName(self.path.stem, self.path.suffix)  # given itself, so it is bars
            if self.symbol is not None:
                named = replace(named, symbol=self.symbol)
            name = named.symbol or piece.label
            if self.only in (None, name):
                files.setdefault(name, []).append(BarsFile(piece, named))
        return files


_UNREAD: Final = b"unreadable"
"""In place of the digest of a file without which the night does: on this alone it depends."""


def _digest(file: Path) -> bytes:
    try:
        return file_digest(file).encode()
    except SourceError:
        return _UNREAD


_NAME_IT: Final = (
    "name the file after it, add a column symbol, or give this one file with --symbol."
)
_REMOVE: Final = "only the first is read, so remove one of them."


def _refusal(found: SymbolFiles, daily: Sequence[BarsFile]) -> RefusedInput | None:
    """Why the rows of a symbol cannot be used: none could be read, or a period is absent."""
    periods = {file.piece.label for file in daily if file.named.period}
    for label, refusal in found.skipped.items():
        if refusal.code != "duplicate_symbol" and (label in periods or not found.tables):
            return refusal
    stated = next((table.refusal for table in found.tables if table.refusal), None)
    if stated is None:
        stated = parted(found.tables)
    if stated is not None:
        return stated
    return stooq_refusal(found.name) if found.tables and found.tables[0].form == STOOQ else None


def _no_file(files: Sequence[BarsFile]) -> RefusedInput:
    label, interval = files[0].piece.label, files[0].named.interval
    reason = f"{label} holds no daily prices ({interval}); only {DAILY} can be read."
    return RefusedInput("other_interval", reason)


def _intraday(table: BarsTable) -> bool:
    refusal = table.refusal or to_bars(table.frame)[2]
    return refusal is not None and refusal.code == "other_interval"


def _common(values: Iterable[Fact]) -> Fact | None:
    known = set(values)
    return known.pop() if len(known) == 1 else None


def _order(file: BarsFile) -> tuple[bool, int, str]:
    """The sort key of files: periods first, months before days, so that a day's own file overrules
    its month.
    """
    return not file.named.period, len(file.named.period), file.named.period


def _read(file: BarsFile, reader: PieceReader) -> BarsTable:
    """Read one file; whatever goes wrong is a `SourceError` that names the file."""
    label = file.piece.label
    data = reader.read(file.piece)
    try:
        return read_bars(data, label=label, date=file.named.date)
    except SourceError as error:
        raise error if label in str(error) else SourceError(f"{label}: {error}") from error
    # The file is a stranger's, and the libraries that read it may raise anything.
    except (Exception, pl.exceptions.PanicException) as error:
        said = f"{label} cannot be read ({type(error).__name__}); write it again."
        raise SourceError(said) from error


def holds_many(table: BarsTable, named: FileName) -> bool:
    """Whether a file gives its own symbols: several of them, or one that its name does not give."""
    if not table.has_symbol:
        return False
    if table.form == MASSIVE or not named.symbol:
        return True
    if table.symbol is None:
        return bool(table.frame["symbol"].drop_nulls().n_unique() > 1)
    return normalise(table.symbol) not in (None, normalise(named.symbol))


def stooq_refusal(name: str) -> RefusedInput | None:
    """Refuse a Stooq symbol of a country whose trading days are not known."""
    country = name.upper().rpartition(".")[2] if "." in name else "US"
    if country in AT_HOME or exchange_of(name):
        return None
    return RefusedInput("foreign_listing", f"The trading days of Stooq's .{country} are not known.")

"""Opening: recognise the source at a path, and make it cheap to read in batches."""

from __future__ import annotations

import shlex
import zipfile
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final

import polars as pl

from nightly.columns import BARS
from nightly.errors import Refusal, SourceError
from nightly.sources.collection import sort_files
from nightly.sources.convert import prepare_table
from nightly.sources.files import scan_bars
from nightly.sources.folder import FolderSource
from nightly.sources.pieces import MAX_BYTES
from nightly.sources.regular import open_regular
from nightly.sources.source import BarSource
from nightly.sources.table import TableSource, readable
from nightly.sources.telling import Step, Told, silent
from nightly.symbols import SHAPE, normalise

STOOQ: Final = b"<TICKER>"
SOME: Final = 3
"""Files that an error names; more are counted."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A source, and what the night's report says about how it was read."""

    source: BarSource
    told: Mapping[str, Any] = field(default_factory=dict)
    left: Mapping[str, Refusal] = field(default_factory=dict)
    """By file: why it was left out, where that refuses no symbol of its own."""

    def unusable(self) -> str | None:
        """Why no symbol of the source can be read, with what would be; None if one can."""
        outlines = self.source.outlines()
        if any(normalise(name) for name in outlines):
            return None
        return _nothing(self, outlines.keys())


def open_source(path: Path, symbol: str | None = None) -> BarSource:
    """The source at a path, unsorted: files of one symbol each, or one table of all symbols.

    Raises:
        SourceError: there is nothing to read, or no name in it can be a symbol.
    """
    source = _recognised(path, symbol)
    if path.is_dir():
        _check_names(path, source)
    elif said := Opened(source).unusable():
        raise SourceError(f"{path} {said}")
    return source


def prepare_source(
    path: Path,
    work: Path,
    step: Step = silent,
    symbol: str | None = None,
    *,
    always: bool = False,
) -> Opened:
    """Open a source, and sort its bars into the folder `work` unless batches are cheap to read, or
    `always`.

    `symbol` names the one series that has no symbol of its own.

    Raises:
        SourceError: no bars can be read, or `work` cannot be written.
    """
    opened = read_source(path, work, step, symbol, always=always)
    if said := opened.unusable():
        command = f"screener bars check {shlex.quote(str(path))}"
        raise SourceError(f"{path} {said} `{command}` names them all.")
    return opened


def read_source(
    path: Path,
    work: Path,
    step: Step = silent,
    symbol: str | None = None,
    *,
    always: bool = False,
) -> Opened:
    """The same, even if nothing in it can be used.

    Raises:
        SourceError: there is no file of bars, `symbol` does not fit, or `work` cannot be written.
    """
    told, source = Told(), _recognised(path, symbol)
    if isinstance(source, FolderSource):
        sorted_bars = sort_files(source, work / "bars", step, told)
    else:
        sorted_bars = prepare_table(path, work / "bars", step, told, always=always)
    return Opened(sorted_bars, told.as_dict(), told.left)


def _recognised(path: Path, symbol: str | None) -> FolderSource | TableSource:
    if symbol is not None and normalise(symbol) is None:
        raise SourceError(f"--symbol {symbol!r} cannot be a symbol, which consists of {SHAPE}.")
    if not _exists(path):
        raise SourceError(f'"{path}" does not exist; name a folder of bars or one file.')
    if path.is_dir() or _holds_files(path):
        return FolderSource(path, symbol)
    if symbol is not None:
        raise SourceError(f"{path} has a column symbol, so --symbol cannot name it; leave it out.")
    return TableSource(path)


def _exists(path: Path) -> bool:
    try:
        return path.exists() or path.is_symlink()
    except OSError:
        return False  # the name is too long


def _holds_files(path: Path) -> bool:
    """Whether a file is read as one of a folder: a zip, or any that is no table of many symbols."""
    with readable(path), open_regular(path, str(path)) as stream:
        if stream.read(len(STOOQ)).upper() == STOOQ or zipfile.is_zipfile(stream):
            return True
    try:
        return not scan_bars(path).has_symbol
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        if path.stat().st_size > MAX_BYTES:
            raise SourceError(f"{path} cannot be read ({type(error).__name__}).") from error
    except SourceError:
        if path.stat().st_size > MAX_BYTES:
            raise
    return True


def _check_names(path: Path, source: BarSource) -> None:
    if not any(normalise(name) for name in source.names()):
        raise SourceError(f"{path} has no symbol ({SHAPE}); check its names.")


_NAME_IT: Final = "name its files or its column symbol like that, or one series with --symbol."


def _nothing(opened: Opened, dated: Collection[str]) -> str:
    """Why nothing can be used, to be read after the path: the first reasons, and what is taken.

    `dated` are the names that have bars.
    """
    reasons = list(_reasons(opened, dated))
    if dated or not reasons:
        told = [f"has no symbol ({SHAPE}); {_NAME_IT}"]
    else:
        told = ["has no symbol that can be read."]
    told += list(islice(reasons, SOME))
    if len(reasons) > SOME:
        told.append(f"And {len(reasons) - SOME:,} more.")
    return " ".join([*told, f"Expected: daily bars with the columns {', '.join(BARS)}."])


def _reasons(opened: Opened, dated: Collection[str]) -> Iterator[str]:
    """Why each other name and each file cannot be read."""
    names = [name for name in opened.source.names() if name not in dated]
    for loaded in opened.source.load(names):
        if loaded.refusal is not None:
            yield loaded.refusal.of(loaded.name)
    for label, refusal in opened.left.items():
        yield refusal.of(label)

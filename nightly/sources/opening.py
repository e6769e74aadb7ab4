"""Opening: recognise the source at a path, and make it cheap to read in batches."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import polars as pl

from nightly.errors import SourceError
from nightly.sources.convert import (
    Step,
    Told,
    convert_folder,
    convert_table,
    convert_tables,
    holds_many,
    silent,
    tell_table,
    wants_sorting,
)
from nightly.sources.folder import FolderSource
from nightly.sources.source import BarSource
from nightly.sources.table import TableSource
from nightly.symbols import SHAPE, normalise

STOOQ: Final = b"<TICKER>"


@dataclass(frozen=True, slots=True)
class Opened:
    """A source, and what the night's report says about how it was read."""

    source: BarSource
    told: Mapping[str, Any] = field(default_factory=dict)


def open_source(path: Path) -> BarSource:
    """The source at a path: files of one symbol each, or one table of all symbols.

    Raises:
        SourceError: there is nothing to read, or no name in it can be a symbol.
    """
    if not path.exists():
        raise SourceError(f"{path} does not exist; name a folder of bars or one table.")
    source = FolderSource(path) if _holds_files(path) else TableSource(path)
    return _usable(source, path)


def prepare_source(path: Path, work: Path, step: Step = silent) -> Opened:
    """Open a source, and sort its bars into the folder `work` unless batches are cheap to read.

    Raises:
        SourceError: the bars cannot be read, or `work` cannot be written.
    """
    if not path.exists():
        raise SourceError(f"{path} does not exist; name a folder of bars or one table.")
    told, folder = Told(), work / "bars"
    if _holds_files(path):
        if holds_many(path):
            source = convert_tables(path, folder, step, told)
        else:
            source = convert_folder(FolderSource(path), folder, step, told)
        return Opened(_usable(source, path), told.as_dict())
    table = _usable(TableSource(path), path)
    try:
        sort = wants_sorting(path)
        return Opened(
            convert_table(TableSource(path), folder, step) if sort else table, tell_table(path)
        )
    except (pl.exceptions.PolarsError, OSError) as error:
        raise SourceError(f"{path} cannot be read ({type(error).__name__}).") from error


def _holds_files(path: Path) -> bool:
    if path.is_dir() or zipfile.is_zipfile(path):
        return True
    with path.open("rb") as stream:
        return stream.read(len(STOOQ)).upper() == STOOQ


def _usable(source: BarSource, path: Path) -> BarSource:
    if not any(normalise(name) for name in source.names()):
        raise SourceError(f"{path} has no symbol ({SHAPE}); check its names.")
    return source

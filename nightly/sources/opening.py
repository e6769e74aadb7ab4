"""Opening: which source a path holds."""

from __future__ import annotations

from pathlib import Path

from nightly.errors import SourceError
from nightly.sources.folder import FolderSource
from nightly.sources.source import BarSource
from nightly.sources.table import TableSource
from nightly.symbols import normalise


def open_source(path: Path) -> BarSource:
    """The source that a path holds: a folder with one file a symbol, or one table of all.

    Raises:
        SourceError: there is nothing to read, or no name in it can be a symbol.
    """
    source: BarSource
    if path.is_dir():
        source = FolderSource(path)
    elif path.is_file():
        source = TableSource(path)
    else:
        raise SourceError(f"{path} does not exist; name a folder of bars or one table.")
    if not any(normalise(name) for name in source.names()):
        raise SourceError(f"{path} has no symbol of letters, digits and dots; check its names.")
    return source

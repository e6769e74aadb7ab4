"""Night: a sealed night in Python, to explore its tables as frames and to draw its charts.

with open_night("data") as night:
    print(night.session, night.polars("setups"))
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import TYPE_CHECKING

from screener.data.columns import ExportColumn, TableName, columns_of
from screener.data.frames import pandas_frame, polars_frame
from store.errors import ManifestError
from store.folder.layout import DataFolder
from store.ledger.manifest import VERSION_PATTERN, known_book, read_manifest
from store.nights.book import Book

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class Night:
    """One sealed night. Its values are those that were sealed, and those that every surface shows;
    close it, or use it in a `with`.
    """

    def __init__(self, book: Book) -> None:
        self._book = book
        self.session: dt.date | None = book.session
        """The session that it describes; no later bar is used."""
        self.data_version = book.data_version
        self.source = book.source
        self.disclaimer = book.disclaimer

    def polars(self, table: TableName) -> pl.DataFrame:
        """A table as a frame of Polars (`pip install 'pattern-screener[polars]'`).

        Raises:
            ValueError: there is no such table.
            ModuleNotFoundError: Polars is not installed.
        """
        return polars_frame(self._book, table)

    def pandas(self, table: TableName) -> pd.DataFrame:
        """A table as a frame of pandas (`pip install 'pattern-screener[pandas]'`).

        Raises:
            ValueError: there is no such table.
            ModuleNotFoundError: pandas is not installed.
        """
        return pandas_frame(self._book, table)

    def columns(self, table: TableName) -> tuple[ExportColumn, ...]:
        """The columns of a table, with type, unit and meaning.

        Raises:
            ValueError: there is no such table.
        """
        return columns_of(table)

    def chart(self, symbol: str, setup_id: str | None = None) -> bytes:
        """The chart of a symbol's setup as a PNG of 1200 by 675 pixels: of its first setup by rank
        if none is named, and of its past trades if it has none.

        Raises:
            BookError: the night has no such setup, or no bars of the symbol.
        """
        from mcp_server.drawing.view import USUAL
        from screener.data.chart import draw_setup

        return draw_setup(self._book, symbol.upper(), setup_id, USUAL)[0]

    def close(self) -> None:
        """Close the night."""
        self._book.close()

    def __enter__(self) -> Night:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def open_night(path: str | Path, version: str | None = None) -> Night:
    """The active night of a data folder, or the sealed one that its data_version names; its book is
    checked against the digest with which it was sealed. Nothing in the folder is changed, but for
    a note that it was checked.

    Raises:
        ManifestError: there is no such night, or it is not what was sealed.
        BookError: it is of another version of this program.
    """
    return Night(open_book(Path(path), version))


def open_book(data_dir: Path, version: str | None = None) -> Book:
    """The book of a night, as for `open_night`."""
    folder = DataFolder(data_dir)
    manifest = folder.manifest
    if version is not None:
        manifest = folder.nights / f"{version}.json"
        if not VERSION_PATTERN.match(version) or not manifest.exists():
            raise ManifestError(
                f"There is no night {version}; `screener night list` shows the sealed nights."
            )
    sealed = read_manifest(manifest)
    return Book.open(known_book(folder.nights, sealed), sealed)

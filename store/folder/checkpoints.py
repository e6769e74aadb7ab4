"""Checkpoints: one file with what the last night keeps of each symbol for the next one.

They only save time: without the file, or with a damaged one, every symbol is analysed anew.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from store.folder.files import DRAFT, open_unchanging, private_file
from store.folder.layout import DataFolder

Keep = Callable[[str, bytes], None]
"""Keeps the checkpoint of a symbol."""


class Checkpoints:
    """The checkpoints of a data folder."""

    def __init__(self, data_dir: Path) -> None:
        self.path = DataFolder(data_dir).checkpoints
        self.damage: str | None = None
        """Why the file, or part of it, could not be read; None if all was read."""

    def read(self, symbols: Iterable[str]) -> Mapping[str, bytes]:
        """The checkpoints of some symbols. Symbols without a readable one are missing."""
        if not self.path.exists():
            return {}
        found: dict[str, bytes] = {}
        try:
            with closing(open_unchanging(self.path)) as kept:
                for symbol in symbols:
                    row = kept.execute("SELECT body FROM checkpoints WHERE symbol = ?", (symbol,))
                    found.update((symbol, body) for (body,) in row if isinstance(body, bytes))
        except (sqlite3.Error, UnicodeDecodeError) as error:
            # What SQLite says of damage quotes it, and need not be UTF-8.
            self.damage = str(error)
        return found

    @contextmanager
    def replacing(self) -> Iterator[Keep]:
        """Replace the file with the checkpoints added in the block, if it ends without an error."""
        draft = self.path.with_name(f".{self.path.name}.{os.getpid()}{DRAFT}")
        draft.unlink(missing_ok=True)
        try:
            with closing(sqlite3.connect(private_file(draft))) as kept:
                kept.executescript(
                    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
                    "CREATE TABLE checkpoints (symbol TEXT PRIMARY KEY, body BLOB NOT NULL);"
                )
                yield lambda symbol, body: _insert(kept, symbol, body)
                kept.commit()
            draft.replace(self.path)
        finally:
            draft.unlink(missing_ok=True)


def _insert(kept: sqlite3.Connection, symbol: str, body: bytes) -> None:
    kept.execute("INSERT INTO checkpoints VALUES (?, ?)", (symbol, body))

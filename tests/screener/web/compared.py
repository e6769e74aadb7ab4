"""A night and the night before it, of which a test chooses in what they differ."""

from __future__ import annotations

import datetime as dt
import shutil
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from store.folder.files import digest_file
from store.nights.nights import Nights
from tests.resealed import set_meta
from tests.service import copy_night

LATER = "20121004-0123456789ab"
SESSION = dt.date(2012, 10, 4)
"""The version and the session of the later night; the earlier one is the tests' own."""


def seal_later(
    night: Path,
    folder: Path,
    change_book: Callable[[sqlite3.Connection], None],
    changes: Sequence[dict[str, Any]] = (),
) -> None:
    """Put a copy of a night into a folder, and the night after it: the same with another book."""
    copy_night(night, folder)
    seal_next(folder, change_book, changes)


def seal_next(
    folder: Path,
    change_book: Callable[[sqlite3.Connection], None],
    changes: Sequence[dict[str, Any]] = (),
    session: dt.date = SESSION,
) -> None:
    """Put the night after the active one into a folder: the same with another book."""
    version = f"{session:%Y%m%d}{LATER[8:]}"
    nights = Nights(folder)
    before = nights.check_active()
    book = nights.folder / f"{version}.book"
    shutil.copy(nights.folder / before.book.file, book)
    since = {"since_session": before.as_of_session, "since_version": before.data_version}
    with closing(sqlite3.connect(book)) as connection, connection:
        change_book(connection)
        set_meta(connection, "changes", {**since, "changes": list(changes)})
    fields = before.model_dump(mode="json")
    fields |= {"data_version": version, "as_of_session": session.isoformat()}
    fields["book"] |= {
        "file": book.name,
        "sha256": digest_file(book),
        "bytes": book.stat().st_size,
    }
    (nights.folder / f"{version}.json").write_bytes(orjson.dumps(fields))
    nights.pointer.write_bytes(orjson.dumps(fields))


def set_row(book: sqlite3.Connection, rank: int, **fields: Any) -> None:
    """Change fields of a row of the scan."""
    (body,) = book.execute("SELECT body FROM scan WHERE rank = ?", (rank,)).fetchone()
    changed = orjson.dumps(orjson.loads(body) | fields)
    book.execute("UPDATE scan SET body = ? WHERE rank = ?", (changed, rank))

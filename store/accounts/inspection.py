"""Inspection: what the account database says of itself, without a change to it."""

from __future__ import annotations

import datetime as dt
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import anyio
import anyio.to_thread
import sqlalchemy as sa

from store.accounts.accounts import aware
from store.database import tables
from store.database.closing import is_closed
from store.database.database import Database
from store.database.migration import HEAD, revision_of


@dataclass(frozen=True, slots=True)
class Inspection:
    """The schema of a database, whether its file is whole, and its newest event."""

    revision: str | None
    """The migration that it is at; None before the first."""
    damage: str | None = None
    """What SQLite found wrong with its file."""
    newest_event: dt.datetime | None = None
    is_closed: bool = False
    """Whether its accounts have moved to another."""

    @property
    def is_current(self) -> bool:
        """Whether it has the schema that this program needs."""
        return self.revision == HEAD


async def inspect(url: str, seconds: float) -> Inspection:
    """Look at the database at an SQLAlchemy URL.

    Raises:
        DatabaseError: it cannot be opened.
        TimeoutError: it took longer.
    """
    database = Database(url)
    if database.file:
        damage = await anyio.to_thread.run_sync(_damage, database.file)
        if damage:
            return Inspection(None, damage)
    try:
        with anyio.fail_after(seconds):
            async with database.read() as connection:
                return await connection.run_sync(_inspect)
    finally:
        with anyio.CancelScope(shield=True):
            await database.close()


def _inspect(connection: sa.Connection) -> Inspection:
    revision = revision_of(connection)
    if revision != HEAD:
        return Inspection(revision)
    at = connection.scalar(sa.select(sa.func.max(tables.audit.c.at)))
    return Inspection(
        revision,
        newest_event=None if at is None else aware(at),
        is_closed=is_closed(connection),
    )


def _damage(file: Path) -> str | None:
    """What SQLite finds wrong with a file, read only; None of one that cannot be opened, too."""
    address = f"file:{quote(str(file.resolve()))}?mode=ro"
    try:
        with closing(sqlite3.connect(address, uri=True)) as kept:
            (said,) = kept.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.OperationalError:
        return None
    except sqlite3.DatabaseError as error:
        return str(error)
    return None if said == "ok" else str(said)

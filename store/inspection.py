"""Inspection: what the account database says of itself, without a change to it."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import anyio
import sqlalchemy as sa

from store import tables
from store.accounts import aware
from store.database import HEAD, Database


@dataclass(frozen=True, slots=True)
class Inspection:
    """The schema of a database, whether its file is whole, and its newest event."""

    revision: str | None
    """The migration that it is at; None before the first."""
    damage: str | None = None
    """What SQLite found wrong with its file."""
    newest_event: dt.datetime | None = None

    @property
    def is_current(self) -> bool:
        """Whether it has the schema that this program needs."""
        return self.revision == HEAD

    @property
    def is_newer(self) -> bool:
        """Whether a newer program has migrated it."""
        return self.revision is not None and self.revision > HEAD


async def inspect(url: str, seconds: float) -> Inspection:
    """Look at the database at an SQLAlchemy URL.

    Raises:
        DatabaseError: it cannot be opened.
        TimeoutError: it took longer.
    """
    database = Database(url)
    try:
        with anyio.fail_after(seconds):
            async with database.read() as connection:
                return await connection.run_sync(_inspect)
    finally:
        with anyio.CancelScope(shield=True):
            await database.close()


def _inspect(connection: sa.Connection) -> Inspection:
    damage = None
    if connection.dialect.name == "sqlite":
        said = str(connection.scalar(sa.text("PRAGMA quick_check(1)")))
        damage = None if said == "ok" else said
    if damage or not sa.inspect(connection).has_table("alembic_version"):
        return Inspection(None, damage)
    revision = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    if revision != HEAD:
        return Inspection(revision)
    at = connection.scalar(sa.select(sa.func.max(tables.audit.c.at)))
    return Inspection(revision, newest_event=None if at is None else aware(at))

"""The account database: its transactions and migrations.

It is SQLite through aiosqlite by default, or PostgreSQL by URL. Secrets are stored only as hashes.
Only this package contains SQL; each public method that uses the database is one transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from importlib import resources
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    IntegrityError,
    NotSupportedError,
    ProgrammingError,
    SQLAlchemyError,
)
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from store.errors import DatabaseError, DatabaseUnavailableError
from store.files import private_file
from store.reaching import HOW, check_url, why_not

HEAD = "0006"
"""The newest migration, which is the schema that this program needs."""

BUSY_SECONDS = 5
"""Seconds a transaction waits for another writer before the caller is told to try again."""

HIDDEN = "***"

TRANSIENT = (
    "SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL", "SQLITE_IOERR", "SQLITE_FULL",
    "SQLITE_CANTOPEN", "SQLITE_READONLY", "SQLITE_NOMEM",
)  # fmt: skip
"""SQLite's result codes for failures of a lock, the disk or memory, not of the statement."""


class Database:
    """Transactions on the database at an SQLAlchemy URL."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.engine = _engine(url)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """A connection for look-ups.

        Raises:
            DatabaseUnavailableError: the database did not answer in time.
            DatabaseError: the database refused the statement.
        """
        with _translated(self.url):
            async with self.engine.connect() as connection:
                yield connection

    @asynccontextmanager
    async def write(self) -> AsyncIterator[AsyncConnection]:
        """One write transaction, committed at the end of the block, rolled back on an error.

        Raises:
            DatabaseUnavailableError: the database did not answer, or was busy for too long.
            DatabaseError: the database refused the statement.
            IntegrityError: a constraint was violated; the caller knows what that means.
        """
        with _translated(self.url):
            async with self.engine.execution_options(writes=True).begin() as connection:
                yield connection

    async def migrate(self) -> None:
        """Migrate the database to this program's schema. Costs one look-up if it is up to date.

        Raises:
            DatabaseError: the database cannot be opened, or a newer program has migrated it.
        """
        try:
            self._keep_private()
            async with self.engine.connect() as connection:
                revision = await connection.run_sync(_revision)
            if revision == HEAD:
                return
            if revision is not None and revision > HEAD:
                raise DatabaseError(
                    f"The account database is at schema {revision}, newer than this program's "
                    f"{HEAD}; run the newer version."
                )
            async with self.engine.execution_options(writes=True).begin() as connection:
                await connection.run_sync(_upgrade)
        except (DBAPIError, OSError) as error:
            kind = DatabaseUnavailableError if _is_transient(error) else DatabaseError
            raise kind(
                f"The account database cannot be opened: {why_not(error, self.url)} "
                "(SCREENER_DATABASE_URL or SCREENER_DATA_DIR names it)."
            ) from error

    def _keep_private(self) -> None:
        """Restrict an SQLite file to its owner, before SQLite opens or creates it."""
        path = self.engine.url.database
        if self.engine.dialect.name == "sqlite" and path:
            private_file(Path(path))

    async def forget(self) -> None:
        """Empty the log of SQLite, which still holds what was deleted; not while others read it."""
        if self.engine.dialect.name != "sqlite":
            return
        with suppress(DatabaseUnavailableError), _translated(self.url):
            async with self.engine.connect() as connection:
                # Outside any transaction, which SQLAlchemy would begin.
                driver: Any = (await connection.get_raw_connection()).driver_connection
                await driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    async def close(self) -> None:
        """Close every connection."""
        await self.engine.dispose()


@contextmanager
def _translated(url: str) -> Iterator[None]:
    """Translate the exceptions of a driver or the pool into errors of the store."""
    try:
        yield
    except IntegrityError:
        raise
    except (SQLAlchemyError, OSError) as error:
        if _is_transient(error):
            raise DatabaseUnavailableError(
                f"The account database does not answer: {why_not(error, url)}."
            ) from error
        raise DatabaseError(f"The account database refused a statement ({error}).") from error


def _is_transient(error: Exception) -> bool:
    """Whether an error is temporary, so that trying again may succeed."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(cause, sqlite3.OperationalError):
        return cause.sqlite_errorname.startswith(TRANSIENT)
    return not isinstance(error, ProgrammingError | DataError | NotSupportedError | ArgumentError)


def without_password(url: str) -> str:
    """A database's URL as it may be shown: with neither its password nor any other secret."""
    try:
        parsed = sa.make_url(url)
    except (ArgumentError, ValueError):
        return HIDDEN
    if "@" in f"{parsed.host}{parsed.database}":
        return HIDDEN  # the password has a bare @, so a part of it reads as a host
    secret = {name: HIDDEN for name in parsed.query if "pass" in name.lower()}
    return parsed.update_query_dict(secret).render_as_string(hide_password=True)


def _engine(url: str) -> AsyncEngine:
    check_url(url)
    try:
        return _new_engine(url)
    except (SQLAlchemyError, ValueError, ImportError):
        # The cause may quote a part of the password, so it is not kept.
        raise DatabaseError(f"SCREENER_DATABASE_URL cannot be used; {HOW}.") from None


def _new_engine(url: str) -> AsyncEngine:
    # Errors of statements are logged and shown: without the values, which are people's.
    if not url.startswith("sqlite"):
        return create_async_engine(
            url, pool_timeout=BUSY_SECONDS, pool_pre_ping=True, hide_parameters=True
        )
    connect = {"timeout": BUSY_SECONDS}
    engine = create_async_engine(url, connect_args=connect, hide_parameters=True)
    sa.event.listen(engine.sync_engine, "connect", _prepare_sqlite)
    sa.event.listen(engine.sync_engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: Any, _record: object) -> None:  # noqa: ANN401 - a driver's
    # The driver must not open transactions of its own: a read that becomes a write could then
    # fail at once with "database is locked" instead of waiting for the lock.
    connection.isolation_level = None
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode = WAL")
    cursor.execute("PRAGMA foreign_keys = ON")
    # What is deleted, as an account, is gone from the file too.
    cursor.execute("PRAGMA secure_delete = ON")
    cursor.close()


def _begin_sqlite(connection: sa.Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _revision(connection: sa.Connection) -> str | None:
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    revision: str | None = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    return revision


def _upgrade(connection: sa.Connection) -> None:
    # Imported here because it is slow to load and an up-to-date database does not need it.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(resources.files("store") / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")

"""Copies: all accounts of one database put into another one that is empty, of either engine.

Nobody writes to the first one meanwhile, and it is closed before the copy is committed, so whatever
was acknowledged is in a copy that is there. A copy that is killed leaves the second one empty, or
in the instant of its end complete.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection

from store.backup.archive import Progress, silent
from store.backup.rows import Loading, chunks
from store.database import closing
from store.database.database import Database
from store.database.migration import (
    HEAD,
    WAIT_SECONDS,
    check_known,
    revision_of,
    tables_of,
    wait_for_others,
)
from store.database.reaching import why_not
from store.database.tables import OWN
from store.errors import DatabaseError, DatabaseUnavailableError

LOCK_MILLISECONDS = 500
"""For which a lock is waited for before those that are held are given back: less than a second,
after which PostgreSQL would end one of two transactions that wait for each other.
"""

UNLOCKED = ("55P03", "40P01")
"""PostgreSQL's codes for a lock that was not got in time, and for a deadlock."""

UNSURE = (
    "The copy may have failed in its last step: {error} The first database is closed already. "
    "Check the second with `screener db check`: if it has accounts, all are there. Otherwise run "
    "this again, or take the first one back with `screener db reopen`."
)


async def copy(
    origin: Database, target: Database, *, leave_open: bool = False, progress: Progress = silent
) -> Mapping[str, int]:
    """Copy all rows and compare them; returns how many rows each table has. A service that runs on
    the origin reads meanwhile, and its writes wait or are told to try again. Afterwards the origin
    refuses them, unless it is left open.

    Raises:
        DatabaseError: the target is not empty, the origin is not of this program's schema, or one
            cannot be reached. The target is as it was.
        BackupError: the target refuses rows, or they are others when they are read again.
    """
    _check_apart(origin, target)
    closed = False
    try:
        async with target.exclusive() as into:
            await into.run_sync(_check_empty)
            loading = await Loading.begin(into, HEAD)
            async with origin.exclusive() as rows:
                await rows.run_sync(_check_schema)
                sums = await _copied(rows, loading, target, progress)
                await _compare(into, sums, target, progress)
                if not leave_open:
                    await rows.run_sync(closing.close)
            closed = not leave_open
    except DatabaseError as error:
        if closed:
            raise DatabaseError(UNSURE.format(error=error)) from error
        raise
    return sums.rows


async def is_closed(database: Database) -> bool:
    """Whether the accounts of a database have moved.

    Raises:
        DatabaseError: it cannot be reached.
    """
    async with database.snapshot() as connection:
        return await connection.run_sync(closing.is_closed)


async def reopen(database: Database) -> bool:
    """Let a database that was closed take writes again; returns whether it was.

    Raises:
        DatabaseError: it cannot be reached.
    """
    _check_there(database)
    async with database.exclusive() as connection:
        closed = await connection.run_sync(closing.is_closed)
        if closed:
            await connection.run_sync(closing.reopen)
    return closed


class _Sums:
    """How many rows each table has, and a digest over them."""

    def __init__(self) -> None:
        self.rows = Counter[str]()
        self.digests: dict[str, bytes] = {}

    def add(self, table: str, chunk: bytes) -> None:
        self.rows[table] += chunk.count(b"\n")
        self.digests[table] = hashlib.sha256(self.digests.get(table, b"") + chunk).digest()


async def _copied(
    rows: AsyncConnection, loading: Loading, target: Database, progress: Progress
) -> _Sums:
    sums, total = _Sums(), await rows.run_sync(_total)
    async for table, chunk in chunks(rows):
        with _reached(target):
            await loading.load(table, chunk)
        sums.add(table, chunk)
        progress("copying", sums.rows.total(), total)
    with _reached(target):
        await loading.end()
    return sums


async def _compare(
    into: AsyncConnection, expected: _Sums, target: Database, progress: Progress
) -> None:
    sums = _Sums()
    with _reached(target):
        async for table, chunk in chunks(into):
            sums.add(table, chunk)
            progress("comparing", sums.rows.total(), expected.rows.total())
    for table, digest in expected.digests.items():
        if sums.digests.get(table) != digest:
            raise DatabaseError(
                f"The rows of the table {table} differ when they are read back; nothing was copied."
            )


@contextmanager
def _reached(database: Database) -> Iterator[None]:
    """Let an error name its own database, and not the one whose block it passes through."""
    try:
        yield
    except SQLAlchemyError as error:
        raise DatabaseUnavailableError(
            f"The database to copy into does not answer: {why_not(error, database.url)}."
        ) from error


def _hold(connection: sa.Connection) -> None:
    """Let nobody else write or migrate until the transaction ends; they may read. One of SQLite
    that writes does so from its start.
    """
    if connection.dialect.name != "postgresql":
        return
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{WAIT_SECONDS}s'")
    wait_for_others(connection)
    found = reversed(tables_of(connection).sorted_tables)  # as most transactions take them
    names = [table.name for table in found if table.name not in OWN]
    end = time.monotonic() + WAIT_SECONDS
    while names and not _locked(connection, names):
        if time.monotonic() > end:
            raise DatabaseUnavailableError("Others keep writing to the accounts; try again.")


def _locked(connection: sa.Connection, names: Sequence[str]) -> bool:
    """Lock all tables, or none of them where somebody holds one for long: a transaction that has
    one and waits for another would wait for this one too.
    """
    try:
        with connection.begin_nested():
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{LOCK_MILLISECONDS}ms'")
            connection.exec_driver_sql(f"LOCK TABLE {', '.join(names)} IN SHARE ROW EXCLUSIVE MODE")
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{WAIT_SECONDS}s'")
    except DBAPIError as error:
        if getattr(error.orig, "sqlstate", None) not in UNLOCKED:
            raise
        return False
    return True


def _check_schema(connection: sa.Connection) -> None:
    """Hold the origin, and check that it is of this program's schema."""
    _hold(connection)
    revision = revision_of(connection)
    check_known(revision)
    if revision is None:
        raise DatabaseError("The database to copy from holds no accounts; check FROM for a typo.")
    if revision != HEAD:
        raise DatabaseError(
            f"The database to copy from is at schema {revision}, older than {HEAD}; name it in "
            "SCREENER_DATABASE_URL and run `screener db upgrade` first."
        )


def _check_empty(connection: sa.Connection) -> None:
    """Hold the target, and check that it has no rows and no tables of another program."""
    _hold(connection)
    revision, found = revision_of(connection), tables_of(connection)
    check_known(revision)
    if revision is None and found.tables:
        raise DatabaseError(
            "The database to copy into holds tables of another program; name an empty one."
        )
    for table in found.sorted_tables:
        some = sa.select(sa.literal(1)).select_from(table).limit(1)
        if table.name not in OWN and connection.execute(some).first():
            raise DatabaseError(
                f"The database to copy into holds rows already (table {table.name}); name an empty "
                "one, or recreate this one."
            )


def _total(connection: sa.Connection) -> int:
    """How many rows there are to copy."""
    tables = [table for table in tables_of(connection).sorted_tables if table.name not in OWN]
    return sum(
        connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
        for table in tables
    )


def _check_apart(origin: Database, target: Database) -> None:
    """Check that the origin is there, and is not the target too."""
    _check_there(origin)
    if _place(origin) == _place(target):
        raise DatabaseError("FROM and TO are the same database; name another one.")


def _check_there(database: Database) -> None:
    """Check that a file is there, which opening it would make."""
    file = database.file
    if file is not None and not file.exists():
        raise DatabaseError(f"{file.resolve()} does not exist; check its name for a typo.")


def _place(database: Database) -> object:
    if database.file:
        return database.file.resolve()
    url = database.engine.url
    return url.host or "localhost", url.port or 5432, url.database

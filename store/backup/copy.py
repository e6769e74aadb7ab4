"""Copy: all accounts of one database put into another one that is empty, of either engine.

Nobody uses the first one meanwhile, and it is closed before the copy is committed, so whatever was
acknowledged is in a copy that is there. A copy that is killed leaves the second one empty, or in
the instant of its end complete.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from store.backup.archive import Progress, silent
from store.backup.rows import Loading, chunks, kept_tables
from store.database.database import Database
from store.database.migration import HEAD, check_known, close, hold, reopen, revision_of, tables_of
from store.database.problems import translated
from store.errors import DatabaseError

UNSURE = (
    "The copy may have failed in its last step: {error} The first database is closed already. "
    "Check the second with `screener db check`: if it has accounts, all are there. Otherwise run "
    "this again, or take the first one back with `screener db reopen`."
)


async def copy(
    origin: Database, target: Database, *, leave_open: bool = False, progress: Progress = silent
) -> Mapping[str, int]:
    """Copy all rows and compare them; returns how many rows each table has. Afterwards the origin
    refuses whoever uses it, unless it was open and is left so.

    Raises:
        DatabaseError: the target is not empty, the origin is not of this program's schema or in
            use, or one cannot be reached. The target is as it was.
        BackupError: the target refuses rows, or they are others when they are read again.
    """
    _check_exists(origin)
    if origin.place == target.place:
        raise DatabaseError("FROM and TO are the same database; name another one.")
    closed = False
    try:
        async with target.exclusive() as into:
            await into.run_sync(_check_empty)
            loading = await Loading.begin(into, HEAD)
            async with origin.exclusive() as rows:
                was_closed = await rows.run_sync(_hold)
                copied = await _copy(rows, loading, target, progress)
                await _compare(into, copied, target, progress)
                if was_closed or not leave_open:
                    await rows.run_sync(close)
            closed = was_closed or not leave_open
    except DatabaseError as error:
        if closed:
            raise DatabaseError(UNSURE.format(error=error)) from error
        raise
    return copied.rows


async def reopen_accounts(database: Database) -> bool:
    """Let a database that was closed be used again; returns whether it was.

    Raises:
        DatabaseError: it cannot be reached.
    """
    _check_exists(database)
    async with database.exclusive() as connection:
        return await connection.run_sync(reopen)


class _Sums:
    """How many rows each table has, and a digest over them."""

    def __init__(self) -> None:
        self.rows = Counter[str]()
        self.digests: dict[str, bytes] = {}

    def add(self, table: str, chunk: bytes) -> None:
        self.rows[table] += chunk.count(b"\n")
        self.digests[table] = hashlib.sha256(self.digests.get(table, b"") + chunk).digest()


async def _copy(
    rows: AsyncConnection, loading: Loading, target: Database, progress: Progress
) -> _Sums:
    sums, total = _Sums(), await rows.run_sync(_total)
    async for table, chunk in chunks(rows):
        with translated(target.url):
            await loading.load(table, chunk)
        sums.add(table, chunk)
        progress("copying", sums.rows.total(), total)
    with translated(target.url):
        await loading.end()
    return sums


async def _compare(
    into: AsyncConnection, copied: _Sums, target: Database, progress: Progress
) -> None:
    sums = _Sums()
    with translated(target.url):
        async for table, chunk in chunks(into):
            sums.add(table, chunk)
            progress("comparing", sums.rows.total(), copied.rows.total())
    for table, digest in copied.digests.items():
        if sums.digests.get(table) != digest:
            raise DatabaseError(
                f"The rows of the table {table} differ when they are read back; nothing was copied."
            )


def _hold(connection: sa.Connection) -> bool:
    """Hold the origin and check its schema; returns whether a copy before has closed it."""
    was_closed = reopen(connection)
    hold(connection)
    revision = revision_of(connection)
    check_known(revision)
    if revision is None:
        raise DatabaseError("The database to copy from holds no accounts; check FROM for a typo.")
    if revision != HEAD:
        raise DatabaseError(
            f"The database to copy from is at schema {revision}, older than {HEAD}; name it in "
            "SCREENER_DATABASE_URL and run `screener db upgrade` first."
        )
    return was_closed


def _check_empty(connection: sa.Connection) -> None:
    """Hold the target, and check that it has no rows and no tables of another program."""
    hold(connection)
    revision, present = revision_of(connection), tables_of(connection)
    check_known(revision)
    if revision is None and present.tables:
        raise DatabaseError(
            "The database to copy into holds tables of another program; name an empty one."
        )
    for table in kept_tables(present):
        some = sa.select(sa.literal(1)).select_from(table).limit(1)
        if connection.execute(some).first():
            raise DatabaseError(
                f"The database to copy into holds rows already (table {table.name}); name an empty "
                "one, or recreate this one."
            )


def _total(connection: sa.Connection) -> int:
    """How many rows there are to copy."""
    return sum(
        connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
        for table in kept_tables(tables_of(connection))
    )


def _check_exists(database: Database) -> None:
    """Check that a file exists, which opening it would make."""
    if database.file is not None and not database.file.exists():
        raise DatabaseError(f"{database.place} does not exist; check its name for a typo.")

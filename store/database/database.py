"""The account database: its transactions and migrations.

It is SQLite through aiosqlite by default, or PostgreSQL by URL. Secrets are stored only as hashes.
Only this package contains SQL; each public method that uses the database is one transaction.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    AsyncExitStack,
    asynccontextmanager,
    suppress,
)
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import anyio
import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from screener.telemetry.metrics import database_seconds
from store.database.engines import (
    STATEMENT,
    Server,
    begin_patient,
    lift_limits,
    new_sqlite_engine,
    open_reader,
    time_statements,
)
from store.database.migration import (
    HEAD,
    WAIT_SECONDS,
    check_known,
    faults,
    is_closed,
    revision_of,
    upgrade,
    wait_for_others,
)
from store.database.problems import HOW, is_postgresql, translated
from store.database.tables import accounts, changes
from store.errors import (
    DatabaseError,
    DatabaseMovedError,
    DatabaseUnavailableError,
    MissingTablesError,
)
from store.folder.files import private_file

POOL = 8
"""Connections of a process to PostgreSQL, at most."""

SECONDS = 5.0
"""For which a call waits for PostgreSQL: for a connection, a lock, a statement."""

GRACE_SECONDS = 1.0
"""More that a block may take, so that what the server says of a timeout comes first."""

PATIENT_SECONDS = 1800.0
"""For which a patient transaction works at most, lest a server that vanished holds its loop."""

CONNECTING = database_seconds.labels("connection")
"""For a connection of the pool and, where something is written, for the lock."""

OWN_CHANGES = sa.select(changes.c.account_id).where(
    changes.c.id == sa.text("pg_current_xact_id_if_assigned()::text::bigint")
)
"""The accounts that a transaction of PostgreSQL has changed, asked within it."""

T = TypeVar("T")

VALUE: Final[sa.BindParameter[Any]] = sa.bindparam("value")
"""What a look-up is by."""

SQLITE: Final = sqlite.dialect(paramstyle="named")


class LookUp:
    """A query by `VALUE`; SQLite's SQL of it, and how its columns are read, are made once."""

    def __init__(self, query: sa.Select[Any]) -> None:
        self.query = query
        compiled = query.compile(dialect=SQLITE)
        self._sql, self._fixed = str(compiled), compiled.params
        types = [column.type.dialect_impl(SQLITE) for column in query.selected_columns]
        self._readers = [each.result_processor(SQLITE, None) for each in types]

    def rows(self, connection: sqlite3.Connection, value: object) -> list[list[Any]]:
        """The rows of SQLite, read at once, with the values that SQLAlchemy gives."""
        return [
            [read(each) if read else each for read, each in zip(self._readers, row, strict=True)]
            for row in connection.execute(self._sql, {**self._fixed, "value": value})
        ]


class Database:
    """Transactions on the database at an SQLAlchemy URL; a context that closes it at its end."""

    def __init__(self, url: str, *, pool: int = POOL, seconds: float = SECONDS) -> None:
        """With PostgreSQL: at most `pool` connections, and `seconds` for which a call waits.

        Raises:
            DatabaseError: no database can be opened with the URL.
        """
        self.url = url
        self.server: Server | None = None
        """Where the database is, if it is PostgreSQL's."""
        self.listeners: list[Callable[[Collection[int]], None]] = []
        """Each hears which accounts a transaction of this process has changed, before its block
        ends; with PostgreSQL, whose triggers note them.
        """
        self._reader: sqlite3.Connection | None = None
        self._probing: asyncio.Task[None] | None = None
        self._seconds = seconds
        self.engine = self._new_engine(pool)
        time_statements(self.engine)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """A connection for look-ups.

        Raises:
            DatabaseUnavailableError: the database did not answer in time.
            DatabaseError: the database refused the statement.
        """
        async with self._translated(OSError):
            with self._in_time():
                async with _timed(self._reads.connect()) as connection:
                    yield connection

    async def rows(
        self, query: sa.Executable, values: Mapping[str, Any] | None = None
    ) -> Sequence[sa.Row[*tuple[Any, ...]]]:
        """The rows of a query that is a transaction of its own; errors as of `read`."""
        async with self.read() as connection:
            return (await connection.execute(query, values)).all()

    async def scalar(self, query: sa.Select[T]) -> T | None:
        """The first column of a query's first row; None without one. Errors as of `read`."""
        async with self.read() as connection:
            return await connection.scalar(query)

    async def look_up(self, look_up: LookUp, value: object) -> Sequence[Sequence[Any]]:
        """The rows that a look-up finds. Those of SQLite come at once, without a wait, unless the
        file cannot be read just now.

        Raises:
            DatabaseUnavailableError: the database did not answer in time.
            DatabaseError: the database refused the statement.
        """
        if self.server is None:
            with suppress(sqlite3.Error), STATEMENT.time():
                return look_up.rows(self.reader(), value)
        return await self.rows(look_up.query, {"value": value})

    def reader(self) -> sqlite3.Connection:
        """The connection for what is read of SQLite without a wait.

        Raises:
            sqlite3.Error: the file cannot be opened.
        """
        if self._reader is None:
            self._reader = open_reader(self.engine.url.database or "")
        return self._reader

    @asynccontextmanager
    async def write(self, *, patient: bool = False) -> AsyncIterator[AsyncConnection]:
        """One write transaction, committed at the end of the block, rolled back on an error. One
        that nobody waits for is patient: its statements may take PATIENT_SECONDS together, and of
        several servers' one works at a time.

        Raises:
            DatabaseUnavailableError: the database did not answer, or was busy for too long.
            DatabaseError: the database refused the statement.
            IntegrityError: a constraint was violated; the caller knows what that means.
        """
        changed: Sequence[int] = ()
        engine = self.engine.execution_options(writes=True)
        async with self._translated(OSError):
            try:
                with self._in_time(patient=patient):
                    async with _timed(engine.begin()) as connection:
                        if patient and self.server:
                            await begin_patient(connection)
                        yield connection
                        if self.listeners:
                            changed = (await connection.scalars(OWN_CHANGES)).all()
            finally:  # a commit that was cut off may have been one
                for hear in self.listeners if changed else ():
                    hear(changed)

    async def probe(self) -> None:
        """Read a little. Whoever has waited for long enough may leave, also where SQLite hangs.

        Raises:
            DatabaseMovedError: its accounts have moved.
            DatabaseError: the database is away, or its file is, or its tables are.
        """
        if self.server:
            await self._read_little()
            return
        if self._probing is None or self._probing.done():
            self._probing = asyncio.create_task(self._read_little())
        await asyncio.shield(self._probing)

    async def _read_little(self) -> None:
        with translated(self.url, OSError):
            if self.file:
                self.file.stat()  # an open connection would still read what was removed
        await self.scalar(sa.select(accounts.c.id).limit(1))

    async def migrate(self) -> str | None:
        """Migrate the database to this program's schema, once, whoever else starts meanwhile.
        Costs one look-up if it is up to date. Returns the revision that was found.

        Raises:
            DatabaseError: the database cannot be opened, or a newer program has migrated it.
        """
        revision = await self.revision()
        check_known(revision)
        if revision != HEAD:
            async with self.exclusive() as connection:
                await connection.run_sync(upgrade)
        return revision

    async def revision(self) -> str | None:
        """The revision of the schema as it is; None of a database without one.

        Raises:
            DatabaseError: the database cannot be opened.
        """
        async with self._opened(self.engine) as connection:
            return await connection.run_sync(revision_of)

    async def faults(self) -> list[str]:
        """What is wrong with a database of this program's schema, in words; reads all of it.

        Raises:
            DatabaseError: the database cannot be opened.
        """
        async with self.snapshot() as connection:
            return await connection.run_sync(faults)

    @asynccontextmanager
    async def exclusive(self) -> AsyncIterator[AsyncConnection]:
        """A write transaction that changes everything: it waits long for other writers, and for
        others of its kind.
        """
        engine = self.engine.execution_options(writes=True, waits=WAIT_SECONDS)
        async with self._opened(engine) as connection, connection.begin():
            if self.server:
                await lift_limits(connection)
            await connection.run_sync(wait_for_others)
            yield connection

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[AsyncConnection]:
        """A read transaction that sees one state of all tables, however long it takes."""
        options: dict[str, Any] = {}
        if self.server:
            options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        async with self._opened(self.engine.execution_options(**options)) as connection:
            if self.server:
                await lift_limits(connection)
            yield connection

    def _new_engine(self, pool: int) -> AsyncEngine:
        try:
            if not is_postgresql(self.url):
                self._reads = new_sqlite_engine(self.url)
                return self._reads
            self.server = Server(self.url, self._seconds)
            engine = self.server.new_engine(pool)
        except (SQLAlchemyError, ValueError, ImportError):
            # The cause may quote a part of the password, so it is not kept.
            raise DatabaseError(f"SCREENER_DATABASE_URL cannot be used; {HOW}.") from None
        # Each look-up is then one round trip; a transaction of reads would be three.
        self._reads = engine.execution_options(isolation_level="AUTOCOMMIT")
        return engine

    def _in_time(self, *, patient: bool = False) -> AbstractContextManager[object]:
        """Ends a block that takes too long on a server, which itself ends a statement that does:
        this is for one that does not answer at all. Nothing cuts off a block of SQLite.
        """
        if self.server is None:
            # aiosqlite never ends the close of a connection that is cancelled twice, as anyio
            # does: the process would not stop then. SQLite's own waits are short.
            return anyio.CancelScope(shield=True)
        return anyio.fail_after(PATIENT_SECONDS if patient else self._seconds + GRACE_SECONDS)

    @asynccontextmanager
    async def _translated(self, *more: type[Exception]) -> AsyncIterator[None]:
        """As `translated`; where tables are missing, ask whether the accounts have moved."""
        try:
            with translated(self.url, *more):
                yield
        except MissingTablesError as error:
            with translated(self.url, OSError), self._in_time():
                async with self._reads.connect() as connection:
                    if await connection.run_sync(is_closed):
                        raise DatabaseMovedError from error
            raise

    @asynccontextmanager
    async def _opened(self, engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
        """A connection; what the block raises is translated only if it is the database's."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._translated())
            with translated(self.url, OSError):
                if self.file:
                    private_file(self.file)  # before SQLite opens or creates it
                connection = await stack.enter_async_context(engine.connect())
            yield connection

    @property
    def file(self) -> Path | None:
        """The file of SQLite; None of a server, or in memory."""
        path = self.engine.url.database
        return Path(path) if self.server is None and path else None

    @property
    def place(self) -> str:
        """Which database it is, without a secret."""
        if self.file:
            return str(self.file.resolve())
        url = self.engine.url
        return f"{url.database} on {url.host or 'localhost'}:{url.port or 5432}"

    async def forget(self) -> None:
        """Empty the log of SQLite, which still holds what was deleted; not while others read it."""
        if self.server:
            return
        with suppress(DatabaseUnavailableError), translated(self.url, OSError), self._in_time():
            async with self.engine.connect() as connection:
                # Outside any transaction, which SQLAlchemy would begin.
                driver: Any = (await connection.get_raw_connection()).driver_connection
                await driver.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    async def close(self) -> None:
        """Close every connection."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        if self._probing is not None:
            await asyncio.wait({self._probing}, timeout=GRACE_SECONDS)
        await self.engine.dispose()


@asynccontextmanager
async def _timed(
    connecting: AbstractAsyncContextManager[AsyncConnection],
) -> AsyncIterator[AsyncConnection]:
    """A connection, the wait for which is timed."""
    async with AsyncExitStack() as stack:
        with CONNECTING.time():
            connection = await stack.enter_async_context(connecting)
        yield connection

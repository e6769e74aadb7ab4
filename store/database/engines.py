"""Engines for the account database: SQLite by aiosqlite, PostgreSQL by asyncpg.

The address of a server is libpq's (section "Connection URIs" of PostgreSQL's manual), as far as
asyncpg reads it.
"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import anyio
import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import ArgumentError, DisconnectionError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from screener.telemetry.metrics import database_seconds

if TYPE_CHECKING:
    import aiosqlite
    from asyncpg import Connection

BUSY_SECONDS = 5
"""Seconds a transaction of SQLite waits for another writer until the caller is to try again."""

AGAIN_SECONDS = 0.01
"""Until a new file that another opens is tried again."""

DRIVER: Final = "postgresql+asyncpg"

NAMES: Final = frozenset({DRIVER, "postgresql", "postgres"})
"""The ways to begin the address of a PostgreSQL server."""

PARAMETERS: Final = frozenset(
    {
        *("host", "port", "dbname", "user", "password", "passfile", "service", "options"),
        *("sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "sslpassword"),
        *("sslnegotiation", "ssl_min_protocol_version", "ssl_max_protocol_version"),
        *("application_name", "target_session_attrs", "krbsrvname", "gsslib"),
    }
)
"""What an address may say: all that asyncpg heeds, or hands to the server."""

IDLE_SECONDS = 1.0
"""A connection to a server that nobody used for so long is tried before it is used."""

MAX_AGE_SECONDS = 300
"""Age at which a connection gives its place to a new one: before a firewall forgets it."""

PATIENT_KEY: Final = 7_305_118_264_932_102
"""The key of the advisory lock under which one patient transaction works; any fixed number."""

UNLIMITED: Final = ("statement_timeout", "idle_in_transaction_session_timeout")

STATEMENT: Final = database_seconds.labels("statement")

UNTIMED: Final = ("BEGIN", "PRAGMA")
"""Statements that wait for nothing, or whose time is that of getting a connection and a lock."""


def new_sqlite_engine(url: str) -> AsyncEngine:
    """An engine of a file, whose transactions that write take the lock at their start."""
    connect = {"timeout": BUSY_SECONDS}
    # Errors of statements are logged and shown: without the values, which are people's.
    engine = create_async_engine(url, connect_args=connect, hide_parameters=True)
    sa.event.listen(engine.sync_engine, "connect", _prepare)
    sa.event.listen(engine.sync_engine, "begin", _begin)
    return engine


def open_reader(path: str) -> sqlite3.Connection:
    """A connection that only reads, in the thread of whoever asks, and waits for no lock.

    A look-up is so short that handing it to another thread would cost a hundred times as much.

    Raises:
        sqlite3.Error: there is no such file, or it cannot be opened.
    """
    address = f"{Path(path).absolute().as_uri()}?mode=ro"
    return sqlite3.connect(
        address, uri=True, timeout=0, isolation_level=None, check_same_thread=False
    )


def _prepare(connection: Any, _record: object) -> None:  # noqa: ANN401 - a driver's
    # The driver must not open transactions of its own: a read that becomes a write could then
    # fail at once with "database is locked" instead of waiting for the lock.
    connection.isolation_level = None
    connection.run_async(_log_ahead)
    cursor = connection.cursor()
    cursor.execute("PRAGMA foreign_keys = ON")
    # What is deleted, as an account, is gone from the file too.
    cursor.execute("PRAGMA secure_delete = ON")
    cursor.close()


async def _log_ahead(driver: aiosqlite.Connection) -> None:
    """Give a file its write-ahead log. Where several open a new file at once, SQLite refuses all
    but one, without the wait that it keeps for any other lock.
    """
    end = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            await (await driver.execute("PRAGMA journal_mode = WAL")).close()
        except sqlite3.OperationalError as error:
            is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY  # of any kind
            if not is_busy or time.monotonic() > end:
                raise
            await anyio.sleep(AGAIN_SECONDS)
        else:
            return


def _begin(connection: sa.Connection) -> None:
    options = connection.get_execution_options()
    if not options.get("writes", False):
        connection.exec_driver_sql("BEGIN")
        return
    # Each time, because whoever had the connection before may have waited for longer.
    seconds = options.get("waits", BUSY_SECONDS)
    connection.exec_driver_sql(f"PRAGMA busy_timeout = {int(seconds * 1000)}")
    connection.exec_driver_sql("BEGIN IMMEDIATE")


class Server:
    """How a PostgreSQL server is reached, and for how long it is waited for."""

    def __init__(self, url: str, seconds: float) -> None:
        """Read an address.

        Raises:
            ArgumentError: a parameter of it is not known.
        """
        address = sa.make_url(url)
        if not PARAMETERS.issuperset(address.query):
            raise ArgumentError("a parameter is not known")
        self._seconds = seconds
        self._url = address.set(drivername=DRIVER, query={})
        self._dsn = address.set(drivername="postgresql").render_as_string(hide_password=False)
        wait = str(max(1, int(seconds * 1000)))
        self._settings = {
            "statement_timeout": wait,
            "lock_timeout": wait,
            "idle_in_transaction_session_timeout": wait,
            "application_name": str(address.query.get("application_name", "screener")),
        }

    async def connect(self) -> Connection:
        """A new connection, outside the pool."""
        import asyncpg  # only who has PostgreSQL has it

        return await asyncpg.connect(
            self._dsn, timeout=self._seconds, server_settings=self._settings
        )

    def new_engine(self, pool: int) -> AsyncEngine:
        """An engine with at most so many connections, for one of which a call waits so long."""
        engine = create_async_engine(
            self._url,
            async_creator=self.connect,
            pool_size=pool,
            max_overflow=0,
            pool_timeout=self._seconds,
            pool_recycle=MAX_AGE_SECONDS,
            hide_parameters=True,
        )
        sa.event.listen(engine.sync_engine, "checkin", _note_use)
        sa.event.listen(engine.sync_engine, "checkout", _check_alive(engine.sync_engine.dialect))
        return engine


async def lift_limits(connection: AsyncConnection) -> None:
    """Let the transaction of a connection take as long as its work does."""
    for name in (*UNLIMITED, "lock_timeout"):
        await connection.exec_driver_sql(f"SET LOCAL {name} = 0")


async def begin_patient(connection: AsyncConnection) -> None:
    """Let the statements of a transaction take long, but not its waits for locks. One at a time:
    two that delete the same rows in different orders would wait for each other.
    """
    for name in UNLIMITED:
        await connection.exec_driver_sql(f"SET LOCAL {name} = 0")
    await connection.execute(sa.select(sa.func.pg_advisory_xact_lock(PATIENT_KEY)))


def _note_use(_connection: object, record: Any) -> None:  # noqa: ANN401 - SQLAlchemy's
    record.info["used"] = time.monotonic()


def _check_alive(dialect: sa.Dialect) -> Any:  # noqa: ANN401 - a listener
    """A listener that refuses a connection that is dead, in whose place the pool opens another.

    A round trip for every call would double the cost of a look-up. That a server has closed a
    connection is known without one.
    """

    def check(connection: Any, record: Any, _proxy: object) -> None:  # noqa: ANN401
        if connection.driver_connection.is_closed():
            raise DisconnectionError
        idle = time.monotonic() - record.info.get("used", time.monotonic())
        if idle > IDLE_SECONDS and not _answers(dialect, connection):
            raise DisconnectionError

    return check


def _answers(dialect: sa.Dialect, connection: Any) -> bool:  # noqa: ANN401 - a driver's
    try:
        return dialect.do_ping(connection)
    except dialect.loaded_dbapi.Error:
        return False


def time_statements(engine: AsyncEngine) -> None:
    """Observe how long each statement takes that does not fail."""

    def begin(connection: sa.Connection, *_statement: object) -> None:
        connection.info["began"] = time.perf_counter()

    def end(connection: sa.Connection, _cursor: object, statement: str, *_more: object) -> None:
        if not statement.startswith(UNTIMED):
            STATEMENT.observe(time.perf_counter() - connection.info["began"])

    sa.event.listen(engine.sync_engine, "before_cursor_execute", begin)
    sa.event.listen(engine.sync_engine, "after_cursor_execute", end)


def upsert(connection: AsyncConnection, table: sa.Table) -> Any:  # noqa: ANN401 - a dialect's own
    """An insert into a table, with `on_conflict_do_nothing` and `on_conflict_do_update`."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # 2 MB that SQLite does not need

    return postgresql.insert(table)

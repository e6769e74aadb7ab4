"""PostgreSQL: an engine for the account database on a server, and single connections, by asyncpg.

The address is libpq's (section "Connection URIs" of PostgreSQL's manual). asyncpg reads most of its
parameters; a few are read here, and one that nobody would heed is refused.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, DisconnectionError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

if TYPE_CHECKING:
    from asyncpg import Connection

DRIVER: Final = "postgresql+asyncpg"

NAMES: Final = frozenset({DRIVER, "postgresql", "postgres"})
"""The ways to begin the address of a PostgreSQL server."""

IDLE_SECONDS = 1.0
"""A connection that nobody used for so long is tried before it is used."""

OLDEST_SECONDS = 300
"""Age at which a connection gives its place to a new one: before a firewall forgets it."""

PASSED: Final = frozenset(
    {
        *("host", "port", "dbname", "user", "password", "passfile", "service", "options"),
        *("sslmode", "sslrootcert", "sslcert", "sslkey", "sslcrl", "sslpassword"),
        *("sslnegotiation", "ssl_min_protocol_version", "ssl_max_protocol_version"),
        *("application_name", "target_session_attrs", "krbsrvname", "gsslib"),
    }
)
"""libpq's parameters that asyncpg reads, or hands to the server."""

MEANINGLESS: Final = {
    "channel_binding": ("disable", "prefer"),
    "gssencmode": ("disable", "prefer"),
    "keepalives": None,
    "keepalives_idle": None,
    "keepalives_interval": None,
    "keepalives_count": None,
    "tcp_user_timeout": None,
    "client_encoding": ("utf8", "UTF8", "auto"),
}
"""Parameters that change nothing here, so that they are left out, with these values."""

SSL_MODES: Final = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")

OTHER_NAMES: Final = {"ssl": "sslmode", "database": "dbname"}
"""What SQLAlchemy calls libpq's parameters."""

PATIENT_KEY: Final = 7_305_118_264_932_102
"""The key of the advisory lock under which one patient transaction works; any fixed number."""

UNLIMITED: Final = ("statement_timeout", "idle_in_transaction_session_timeout")


class Server:
    """How a PostgreSQL server is reached, and for how long it is waited for."""

    def __init__(self, url: str, seconds: float) -> None:
        """Read an address.

        Raises:
            ArgumentError: a parameter of it is not known, or not to be had.
        """
        address = sa.make_url(url)
        given = dict(address.query)
        self._connect_seconds = min(seconds, _connect_seconds(given.pop("connect_timeout", None)))
        query = _query(given)
        self.url: Final = address.set(drivername=DRIVER, query={})
        dsn = address.set(drivername="postgresql", query=query)
        self._dsn = dsn.render_as_string(hide_password=False)
        wait = str(max(1, int(seconds * 1000)))
        self._settings = {
            "statement_timeout": wait,
            "lock_timeout": wait,
            "idle_in_transaction_session_timeout": wait,
        }
        if "application_name" not in query:
            self._settings["application_name"] = "screener"

    async def connect(self) -> Connection:
        """A new connection, outside the pool."""
        import asyncpg  # only who has PostgreSQL has it

        return await asyncpg.connect(
            self._dsn, timeout=self._connect_seconds, server_settings=self._settings
        )

    def new_engine(self, pool: int, seconds: float) -> AsyncEngine:
        """An engine with at most so many connections, for one of which a call waits so long."""
        engine = create_async_engine(
            self.url,
            async_creator=self.connect,
            pool_size=pool,
            max_overflow=0,
            pool_timeout=seconds,
            pool_recycle=OLDEST_SECONDS,
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


def _connect_seconds(given: object) -> float:
    """libpq's connect_timeout; zero, or none, is no limit."""
    try:
        return float(str(given or 0)) or float("inf")
    except ValueError:
        raise ArgumentError("connect_timeout is a number of seconds") from None


def _query(given: dict[str, Any]) -> dict[str, str]:
    """The parameters for asyncpg, of which the last of several of a name counts."""
    query: dict[str, str] = {}
    for name, values in given.items():
        value = values if isinstance(values, str) else values[-1]
        name = OTHER_NAMES.get(name, name)
        if name == "sslmode" and value not in SSL_MODES:
            raise ArgumentError("there is no such sslmode")
        if name in PASSED:
            query[name] = value
        elif name not in MEANINGLESS or value not in (MEANINGLESS[name] or (value,)):
            raise ArgumentError("a parameter is not known")
    return query


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

"""A PostgreSQL server for the tests, if its programs are installed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine

from store.database import tables
from store.database.database import Database
from tests.accounts import apart

OWNER = "postgres"
TEMPLATE = "migrated"

ENGINES = ["sqlite", pytest.param("postgresql", marks=pytest.mark.engine)]
"""The parameters of what holds on both."""

ON_SQLITE = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
"""Marks a test of what Python decides, to which the engine makes no difference."""


def postgres_bin() -> Path | None:
    """The folder of a PostgreSQL server's programs."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    return next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)


def as_owner(*command: str) -> None:
    """Run a server program, as the server's own user where we are root (it refuses root)."""
    prefix = ["runuser", "-u", OWNER, "--"] if os.geteuid() == 0 else []
    done = subprocess.run([*prefix, *command], capture_output=True, timeout=60, text=True)
    assert done.returncode == 0, f"{command[0]}: {done.stdout} {done.stderr}"


class PostgresServer:
    """A server of this test process alone, on a free loopback port."""

    def __init__(self, folder: Path, programs: Path) -> None:
        if os.geteuid() == 0:
            shutil.chown(folder, OWNER)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"postgresql+asyncpg://{OWNER}@127.0.0.1:{port}"
        self._data = str(folder / "data")
        self._log = str(folder / "log")
        self._control = str(programs / "pg_ctl")
        sockets = f"-c listen_addresses=127.0.0.1 -c unix_socket_directories={folder}"
        self._options = f"-p {port} {sockets} -F"
        as_owner(
            str(programs / "initdb"), "-D", self._data, "-A", "trust", "-U", OWNER, "--no-sync"
        )

    def start(self) -> None:
        """Start it, and wait until it answers."""
        as_owner(
            self._control, "-D", self._data, "-w", "-l", self._log, "-o", self._options, "start"
        )

    def stop(self) -> None:
        """Stop it as a crash would."""
        as_owner(self._control, "-D", self._data, "-m", "immediate", "stop")

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop the server within the block."""
        self.stop()
        try:
            yield
        finally:
            self.start()


@contextmanager
def running_server() -> Iterator[PostgresServer]:
    """A server that runs within the block; skips the test if its programs are not installed."""
    programs = postgres_bin()
    if programs is None:
        pytest.skip("PostgreSQL is not installed")
    # Not in pytest's temporary folder, which the server's user cannot enter.
    with TemporaryDirectory(prefix="postgres-") as folder:
        server = PostgresServer(Path(folder), programs)
        server.start()
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """The address of a PostgreSQL server that the tests of this process share."""
    with running_server() as server:
        apart(lambda: _make_template(server.url))
        yield server.url


@pytest.fixture
def postgres() -> Iterator[PostgresServer]:
    """A PostgreSQL server of one test, which may stop it."""
    with running_server() as server:
        yield server


async def fresh_database(server: str, name: str, template: str = "template1") -> str:
    """A new database on a PostgreSQL server."""
    name = "".join(c for c in name.lower() if c.isalnum())[:40] + os.urandom(4).hex()
    return await _create(server, name, template)


async def _create(server: str, name: str, template: str) -> str:
    engine = create_async_engine(f"{server}/postgres", isolation_level="AUTOCOMMIT")
    async with engine.connect() as connection:
        await connection.execute(sa.text(f"CREATE DATABASE {name} TEMPLATE {template}"))
    await engine.dispose()
    return f"{server}/{name}"


async def migrated_database(server: str, name: str) -> str:
    """A new database with the tables of the accounts, on the server of `postgres_url`."""
    return await fresh_database(server, name, TEMPLATE)


@pytest.fixture(scope="session")
def shared_url(postgres_url: str) -> str:
    """The address of a database that the tests of this process share: each finds it empty, by
    `emptied`, and leaves its schema as it was.
    """
    return apart(lambda: migrated_database(postgres_url, "shared"))


async def emptied(url: str) -> Database:
    """An account database without any row, and with ids from one on."""
    database = Database(url)
    names = [table.name for table in tables.metadata.sorted_tables if table.name not in tables.OWN]
    async with database.write() as connection:
        await connection.execute(sa.text(f"TRUNCATE {', '.join(names)} RESTART IDENTITY"))
        await connection.execute(tables.changes.delete())
    return database


async def _make_template(server: str) -> None:
    """The database that the migrated ones are copies of, so that migrations run but once."""
    async with Database(await _create(server, TEMPLATE, "template1")) as database:
        await database.migrate()


async def until_waiting(database: Database, many: int) -> None:
    """Wait until so many transactions of a database wait for a lock."""
    query = sa.text(
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    with anyio.fail_after(30):
        while True:
            async with database.read() as connection:
                if (await connection.scalar(query) or 0) >= many:
                    return
            await anyio.sleep(0.01)

"""A PostgreSQL server of the tests' own, where its programs are installed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import create_async_engine

OWNER = "postgres"


def postgres_bin() -> Path | None:
    """The folder of a PostgreSQL server's programs."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    return next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)


def as_owner(*command: str) -> None:
    """Run a server program, as the server's own user where we are root (it refuses root)."""
    prefix = ["runuser", "-u", OWNER, "--"] if os.geteuid() == 0 else []
    subprocess.run([*prefix, *command], check=True, capture_output=True, timeout=60)


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a PostgreSQL server of this test process, on a free loopback port."""
    programs = postgres_bin()
    if programs is None:
        pytest.skip("PostgreSQL is not installed")
    folder = tmp_path_factory.mktemp("postgres")
    if os.geteuid() == 0:
        for parent in (folder, *folder.parents[:3]):
            parent.chmod(0o755)
        shutil.chown(folder, OWNER)
    data = str(folder / "data")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    as_owner(str(programs / "initdb"), "-D", data, "-A", "trust", "-U", OWNER, "--no-sync")
    options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={folder} -F"
    control = str(programs / "pg_ctl")
    as_owner(control, "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start")
    try:
        yield f"postgresql+asyncpg://{OWNER}@127.0.0.1:{port}"
    finally:
        as_owner(control, "-D", data, "-m", "immediate", "stop")


async def fresh_database(server: str, name: str) -> str:
    """A new database on a PostgreSQL server."""
    name = "".join(c for c in name.lower() if c.isalnum())[:40] + os.urandom(4).hex()
    engine = create_async_engine(f"{server}/postgres", isolation_level="AUTOCOMMIT")
    async with engine.connect() as connection:
        await connection.execute(sa.text(f"CREATE DATABASE {name}"))
    await engine.dispose()
    return f"{server}/{name}"

"""Several processes that start at once migrate a database once, and none of them fails."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
import sqlalchemy as sa

from store.database import Database
from store.migration import HEAD, drop, upgrade
from tests.postgres import ENGINES, fresh_database
from tests.service import apart

PROCESSES = 6

START = """
import sys, anyio
from store.database import Database
async def main():
    database = Database(sys.argv[1])
    sys.stdin.read(1)
    print(await database.migrate())
    await database.close()
anyio.run(main)
"""


@pytest.fixture(params=ENGINES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        return f"sqlite+aiosqlite:///{tmp_path / 'accounts.sqlite'}"
    server = request.getfixturevalue("postgres_url")
    return apart(lambda: fresh_database(server, tmp_path.name))


@pytest.mark.parametrize("from_revision", [None, "0003"])
def test_processes_that_start_at_once_migrate_once(url: str, from_revision: str | None) -> None:
    if from_revision:
        apart(lambda: at_revision(url, from_revision))
    reading, writing = os.pipe()
    running = [
        subprocess.Popen(
            [sys.executable, "-c", START, url],
            stdin=reading,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(PROCESSES)
    ]
    os.close(reading)
    os.close(writing)  # all of them go on at once
    ended = [(*process.communicate(timeout=120), process.returncode) for process in running]

    assert [code for _, _, code in ended] == [0] * PROCESSES, [err for _, err, _ in ended]
    assert apart(lambda: revisions(url)) == [HEAD]


async def at_revision(url: str, revision: str) -> None:
    database = Database(url)
    async with database.write() as connection:
        await connection.run_sync(upgrade, revision)
    await database.close()


async def revisions(url: str) -> list[str]:
    database = Database(url)
    async with database.read() as connection:
        found = await connection.execute(sa.text("SELECT version_num FROM alembic_version"))
        rows = [row[0] for row in found]
    await database.close()
    return rows


async def test_a_dropped_schema_can_be_made_again(url: str) -> None:
    database = Database(url)
    await database.migrate()
    async with database.exclusive() as connection:
        await connection.run_sync(drop)
    assert await database.migrate() is None
    assert await database.faults() == []
    await database.close()


@pytest.mark.parametrize("transaction", [Database.snapshot, Database.exclusive])
async def test_what_fails_beside_the_database_is_not_blamed_on_it(
    database: Database, transaction: Callable[[Database], AbstractAsyncContextManager[object]]
) -> None:
    with pytest.raises(OSError, match="No space left"):
        async with transaction(database):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

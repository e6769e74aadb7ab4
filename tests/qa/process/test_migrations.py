"""Several processes that start at once migrate a database once, and none of them fails."""

from __future__ import annotations

import multiprocessing
from pathlib import Path
from threading import Barrier

import anyio
import pytest
import sqlalchemy as sa

from store.database.database import Database
from store.database.migration import HEAD
from tests.postgres import ENGINES, fresh_database
from tests.service import apart

PROCESSES = 6


@pytest.fixture(params=ENGINES)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """An empty database."""
    if request.param == "sqlite":
        return f"sqlite+aiosqlite:///{tmp_path / 'accounts.sqlite'}"
    server = request.getfixturevalue("postgres_url")
    return apart(lambda: fresh_database(server, tmp_path.name))


def test_processes_that_start_at_once_migrate_once(url: str) -> None:
    context = multiprocessing.get_context("forkserver")
    gate = context.Barrier(PROCESSES)
    running = [context.Process(target=migrate, args=(url, gate)) for _ in range(PROCESSES)]
    for process in running:
        process.start()
    for process in running:
        process.join(120)

    assert [process.exitcode for process in running] == [0] * PROCESSES
    assert apart(lambda: revisions(url)) == [HEAD]


def migrate(url: str, gate: Barrier) -> None:
    """Migrate a database at the moment at which the others do."""

    async def run() -> None:
        async with Database(url) as database:
            gate.wait(60)
            await database.migrate()

    anyio.run(run)


async def revisions(url: str) -> list[str]:
    async with Database(url) as database, database.read() as connection:
        found = await connection.execute(sa.text("SELECT version_num FROM alembic_version"))
        return [row[0] for row in found]

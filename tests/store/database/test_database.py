"""The account database: what a probe says of it, what is counted of its statements, and that a
caller who leaves harms nothing.
"""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import anyio
import pytest
import sqlalchemy as sa
from prometheus_client import REGISTRY

from store.database.database import Database
from store.errors import DatabaseError, DatabaseUnavailableError


@pytest.mark.parametrize("name", ["away.sqlite", "n" * 300])  # the system refuses to look for it
async def test_a_probe_of_a_file_that_cannot_be_looked_for_is_an_error_of_the_store(
    tmp_path: Path, name: str
) -> None:
    async with Database(f"sqlite+aiosqlite:///{tmp_path / name}") as database:
        with pytest.raises(DatabaseUnavailableError):
            await database.probe()


def counted(name: str, **labels: str) -> float:
    """What this process has counted."""
    return REGISTRY.get_sample_value(name, labels) or 0


async def test_a_wait_is_timed_once_as_a_connection_or_as_a_statement(database: Database) -> None:
    def waits() -> tuple[float, ...]:
        name = "screener_database_wait_seconds_count"
        return tuple(counted(name, step=step) for step in ("connection", "statement"))

    async def counts_one_of_each_kind_for_each_transaction() -> bool:
        before = waits()
        async with database.write() as connection:
            await connection.execute(sa.text("SELECT version_num FROM alembic_version"))
        async with database.read() as connection:
            await connection.execute(sa.text("SELECT version_num FROM alembic_version"))
        return waits() == (before[0] + 2, before[1] + 2)

    # The server that other tests use runs in this process and may count in the meantime.
    assert any([await counts_one_of_each_kind_for_each_transaction() for _ in range(10)])


async def test_a_failed_transaction_is_counted_by_its_reason(
    database: Database, tmp_path: Path
) -> None:
    def failures() -> tuple[float, ...]:
        name = "screener_database_failures_total"
        return tuple(counted(name, reason=reason) for reason in ("unavailable", "refused"))

    before = failures()
    with pytest.raises(DatabaseError):
        async with database.read() as connection:
            await connection.execute(sa.text("SELECT nothing FROM accounts"))
    assert failures() == (before[0], before[1] + 1)

    away = Database(f"sqlite+aiosqlite:///{tmp_path / 'away' / 'accounts.sqlite'}")
    for ask in (away.probe, away.read().__aenter__):
        with pytest.raises(DatabaseUnavailableError):
            await ask()
    await away.close()
    assert failures() == (before[0] + 2, before[1] + 1)


async def test_a_caller_who_leaves_at_any_time_leaves_no_task_that_never_ends(
    tmp_path: Path,
) -> None:
    """Such a task would keep the process from stopping."""
    async with Database(f"sqlite+aiosqlite:///{tmp_path / 'accounts.sqlite'}") as database:
        await database.migrate()
        for steps in range(1, 60):
            async with anyio.create_task_group() as group:
                group.start_soon(database.probe)
                group.start_soon(database.forget)
                for _ in range(steps):
                    await anyio.lowlevel.checkpoint()
                group.cancel_scope.cancel()

    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_probe_of_a_file_that_does_not_answer_can_be_left(
    tmp_path: Path,
) -> None:
    path = tmp_path / "accounts.sqlite"
    async with Database(f"sqlite+aiosqlite:///{path}") as database:
        await database.migrate()
    async with Database(f"sqlite+aiosqlite:///{path}") as database:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("PRAGMA locking_mode = EXCLUSIVE")
            other.execute("BEGIN EXCLUSIVE")
            with pytest.raises(TimeoutError), anyio.fail_after(0.1):
                await database.probe()


async def test_a_new_file_that_another_writes_first_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "accounts.sqlite"
    async with Database(f"sqlite+aiosqlite:///{path}") as database:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            other.execute("CREATE TABLE alembic_version (version_num TEXT)")
            looking = asyncio.create_task(database.revision())
            await asyncio.wait({looking}, timeout=0.2)
            other.execute("COMMIT")

        assert await looking is None

"""Migrations: they make the tables that the program knows, and what was there still works."""

from __future__ import annotations

import datetime as dt
import errno
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from store import tables
from store.accounts import hash_secret, utc_now
from store.credentials import Kind
from store.database import Database
from store.grants import Grants
from store.keys import Keys
from store.migration import drop, upgrade
from store.sessions import Sessions
from store.tokens import Tokens
from tests.postgres import ENGINES, fresh_database

DAY = dt.timedelta(days=1)


@pytest.fixture(params=ENGINES)
async def empty(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """A database without tables."""
    url = f"sqlite+aiosqlite:///{tmp_path / 'accounts.sqlite'}"
    if request.param != "sqlite":
        url = await fresh_database(request.getfixturevalue("postgres_url"), tmp_path.name)
    database = Database(url)
    yield database
    await database.close()


async def test_the_migrations_make_the_tables_that_the_program_knows(database: Database) -> None:
    def differences(connection: sa.Connection) -> list[object]:
        return list(compare_metadata(MigrationContext.configure(connection), tables.metadata))

    async with database.read() as connection:
        assert await connection.run_sync(differences) == []


async def test_a_dropped_schema_can_be_made_again(empty: Database) -> None:
    await empty.migrate()
    async with empty.exclusive() as connection:
        await connection.run_sync(drop)
    assert await empty.migrate() is None
    assert await empty.faults() == []


@pytest.mark.parametrize("transaction", [Database.snapshot, Database.exclusive])
async def test_what_fails_beside_the_database_is_not_blamed_on_it(
    empty: Database, transaction: Callable[[Database], AbstractAsyncContextManager[object]]
) -> None:
    with pytest.raises(OSError, match="No space left"):
        async with transaction(empty):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


async def furnish(database: Database, now: dt.datetime) -> None:
    """Rows of schema 0005: of an account with everything, and of apps without tokens."""
    then, client = now - 200 * DAY, {"auth_method": "none", "name": "A", "redirect_uris": []}
    account, grant = {"account_id": 1, "created_at": then}, {"grant_id": 1, "kind": Kind.REFRESH}
    rows: list[tuple[sa.Table, dict[str, Any]]] = [
        (tables.accounts, {"id": 1, "email": "ada@example.com", "plan": "premium", "active": True}),
        (tables.keys, {**account, "prefix": "k", "secret_hash": hash_secret("k"), "name": "k"}),
        (tables.sessions, {**account, "token_hash": hash_secret("s"), "seen_at": now}),
        *(
            (tables.clients, {**client, "client_id": client_id, "approved_at": approved_at})
            for client_id, approved_at in (("host", then), ("lapsed", then), ("new", None))
        ),
        (tables.grants, {**account, "id": 1, "prefix": "g", "client_id": "host", "name": "A"}),
        (tables.tokens, {**grant, "token_hash": hash_secret("r"), "expires_at": now + DAY}),
    ]
    async with database.write() as connection:
        for table, row in rows:
            dated = {"created_at": then} if "created_at" in table.c else {}
            if table is tables.sessions:
                dated = {"created_at": now}
            await connection.execute(table.insert().values({**row, **dated}))


async def test_what_was_there_before_the_audit_log_still_works(empty: Database) -> None:
    now = utc_now()
    async with empty.write() as connection:
        await connection.run_sync(upgrade, "0005")
    await furnish(empty, now)

    await empty.migrate()

    grants = Grants(empty)
    swept = await grants.sweep()
    holder = await Keys(empty).principal("k")
    sessions = Sessions(empty, idle=DAY, lifetime=DAY)
    assert (swept.grants, swept.clients) == (0, 1)
    assert [client.client_id for client in await grants.clients()] == ["host", "lapsed"]
    assert holder is not None
    assert (holder.expires_at, holder.key.read_only) == (None, False)
    assert await sessions.account("s") is not None
    assert await sessions.is_proven("s")
    assert await Tokens(empty).rotate("r", "host") is not None

    months = Grants(empty, clock=lambda: now + 89 * DAY)
    await months.sweep()
    assert [client.client_id for client in await months.clients()] == ["host", "lapsed"]
    years = Grants(empty, clock=lambda: now + 200 * DAY)
    await years.sweep()
    assert await years.clients() == []

"""Races: transactions of PostgreSQL that meet. SQLite has one writer at a time."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Coroutine
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from store.accounts import clients as bounds
from store.accounts.accounts import AccountPlan, Accounts, delete_rows, lock_account, utc_now
from store.accounts.audit import Actor, AuditLog, EventKind
from store.accounts.credentials import CredentialKind as Credential
from store.accounts.grants import Grants
from store.accounts.sessions import Sessions
from store.database import tables
from store.database.database import Database
from tests.accounts import CALLBACK, count_of, new_code
from tests.postgres import migrated_database

pytestmark = pytest.mark.engine

ADA = "ada@example.com"
DAY = dt.timedelta(days=1)


@pytest.fixture
async def database(postgres_url: str, tmp_path: Path) -> AsyncIterator[Database]:
    """A database with an account, number 1, and an app."""
    async with Database(await migrated_database(postgres_url, tmp_path.name)) as database:
        await Accounts(database).add(ADA, AccountPlan.PREMIUM)
        await Grants(database).add_client("host", "A host", (CALLBACK,), network="192.0.2.1")
        yield database


async def started(database: Database, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """Start work, and wait until it waits for a lock or is done."""
    task, waits = asyncio.create_task(work), 0
    query = sa.text(
        "SELECT pid FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    while not waits and not task.done():
        waits = len(await database.rows(query))
    return task


async def test_a_deletion_takes_the_browser_that_is_remembered_meanwhile(
    database: Database,
) -> None:
    row = {"token_hash": "x", "account_id": 1, "seen_at": utc_now()}
    async with database.write() as connection:
        await connection.execute(tables.browsers.insert().values(row))
        deletion = await started(database, Accounts(database).delete(ADA))

    assert (await deletion)["browsers"] == 1
    assert await count_of(database, tables.browsers) == 0


async def test_a_deletion_takes_the_tokens_that_are_issued_meanwhile(database: Database) -> None:
    await new_code(Grants(database))
    row = {"token_hash": "x", "grant_id": 1, "kind": Credential.ACCESS, "expires_at": utc_now()}
    async with database.write() as connection:
        await connection.execute(tables.tokens.insert().values(row))
        deletion = await started(database, Accounts(database).delete(ADA))

    assert (await deletion)["tokens"] == 1
    assert await count_of(database, tables.tokens) == 0


async def test_a_failed_sign_in_names_no_account_that_is_deleted_meanwhile(
    database: Database,
) -> None:
    sessions = Sessions(database, idle=DAY, lifetime=DAY)
    async with database.write() as connection:
        await lock_account(connection, 1, deleting=True)
        await delete_rows(connection, 1)
        failure = await started(database, sessions.note_failure(ADA, Actor("stranger")))
    await failure

    [event] = await AuditLog(database).events(kind=EventKind.SIGN_IN_FAILED)
    assert event.account_id is None


async def test_an_app_that_is_approved_meanwhile_does_not_give_way(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "PER_NETWORK", 1)
    clients, grants = tables.clients, Grants(database)
    async with database.write() as connection:
        await connection.execute(clients.update().values(approved_at=utc_now()))
        new = await started(
            database, grants.add_client("new", "New", (CALLBACK,), network="192.0.2.1")
        )
    await new

    assert [client.client_id for client in await grants.clients()] == ["host", "new"]

"""PostgreSQL: its addresses, its limits of time, and what happens when a connection is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import anyio
import pytest
import sqlalchemy as sa

from store.accounts.accounts import AccountPlan, Accounts, utc_now
from store.database import tables
from store.database.database import Database
from store.errors import DatabaseError, DatabaseUnavailableError
from tests.postgres import PostgresServer, fresh_database, until_waiting

pytestmark = pytest.mark.engine

ADA = "ada@example.com"


@pytest.fixture
async def place(postgres_url: str, tmp_path: Path) -> str:
    """An empty database, without the beginning of its address."""
    url = await fresh_database(postgres_url, tmp_path.name)
    return url.partition("://")[2]


async def setting(url: str, name: str) -> str:
    """What a setting is in a session of the database at a URL."""
    async with Database(url, seconds=3) as database:
        found = await database.scalar(sa.select(sa.func.current_setting(name)))
        return str(found)


@pytest.mark.parametrize("begin", ["postgresql", "postgres", "postgresql+asyncpg"])
@pytest.mark.parametrize(
    "parameters",
    ["", "?sslmode=prefer&target_session_attrs=read-write"],
)
async def test_an_address_works_as_it_is_written(begin: str, parameters: str, place: str) -> None:
    async with Database(f"{begin}://{place}{parameters}") as database:
        await database.migrate()
        await Accounts(database).add(ADA, AccountPlan.PREMIUM)
        assert [account.email for account in await Accounts(database).all()] == [ADA]


async def test_what_an_address_says_of_the_session_holds(place: str) -> None:
    url = f"postgresql://{place}?application_name=three&options=-c%20work_mem%3D8MB"
    assert await setting(url, "application_name") == "three"
    assert await setting(url, "work_mem") == "8MB"
    assert await setting(f"postgresql://{place}", "application_name") == "screener"


async def test_an_encrypted_connection_that_is_demanded_is_not_replaced_by_a_plain_one(
    place: str,
) -> None:
    async with Database(f"postgresql://{place}?sslmode=require") as database:
        with pytest.raises(DatabaseError, match="check whether it has TLS"):
            await Accounts(database).all()


@pytest.mark.parametrize(
    "name", ["statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout"]
)
async def test_the_server_ends_what_takes_longer_than_a_call_waits(name: str, place: str) -> None:
    assert await setting(f"postgresql://{place}", name) == "3s"


async def test_a_statement_that_takes_too_long_is_a_wait_that_ended(place: str) -> None:
    async with Database(f"postgresql://{place}", seconds=0.1) as database:
        with anyio.fail_after(10), pytest.raises(DatabaseUnavailableError):
            async with database.write() as connection:
                await connection.execute(sa.text("SELECT pg_sleep(60)"))


@pytest.mark.parametrize("transaction", ["exclusive", "snapshot", "patient"])
async def test_what_takes_long_by_its_nature_is_not_cut_off(transaction: str, place: str) -> None:
    async with Database(f"postgresql://{place}", seconds=1) as database:
        transactions = {
            "exclusive": database.exclusive(),
            "snapshot": database.snapshot(),
            "patient": database.write(patient=True),
        }
        timeout = sa.select(sa.func.current_setting("statement_timeout"))
        async with transactions[transaction] as connection:
            await connection.execute(sa.text("SELECT pg_sleep(1.5)"))
            found = await connection.scalar(timeout)
        assert found == "0"
        found = await database.scalar(timeout)
        assert found == "1s"


async def test_a_call_for_which_there_is_no_connection_is_told_so_in_time(place: str) -> None:
    async with Database(f"postgresql://{place}", pool=1, seconds=1) as database:
        async with database.write():
            with anyio.fail_after(10), pytest.raises(DatabaseUnavailableError):
                async with database.read():
                    pass
        assert await database.scalar(sa.select(1)) == 1


async def test_a_wait_for_a_lock_ends_in_time(place: str) -> None:
    async with Database(f"postgresql://{place}", seconds=1) as database:
        await database.migrate()
        lock = sa.text("LOCK TABLE accounts IN ACCESS EXCLUSIVE MODE")
        async with database.exclusive() as connection:
            await connection.execute(lock)
            with anyio.fail_after(10), pytest.raises(DatabaseUnavailableError):
                await Accounts(database).all()
        assert await Accounts(database).all() == []


@pytest.fixture
async def idle(postgres: PostgresServer) -> AsyncIterator[Database]:
    """A database whose connections are open and unused."""
    async with Database(await fresh_database(postgres.url, "idle")) as database:
        await database.migrate()
        await asyncio.gather(*(Accounts(database).all() for _ in range(4)))
        yield database


async def test_after_a_restart_of_the_server_the_first_call_succeeds(
    idle: Database, postgres: PostgresServer
) -> None:
    with postgres.stopped(), pytest.raises(DatabaseUnavailableError):
        await Accounts(idle).all()
    assert await Accounts(idle).all() == []


async def test_sweeps_of_two_servers_never_wait_for_each_others_rows(place: str) -> None:
    async with Database(f"postgresql://{place}") as database:
        await database.migrate()
        forms, ends = tables.used_forms, utc_now()
        async with database.write() as connection:
            rows = [{"form_hash": name, "expires_at": ends} for name in "ab"]
            await connection.execute(forms.insert(), rows)
        began = anyio.Event()

        async def sweep(first: str, then: str) -> None:
            async with database.write(patient=True) as connection:
                await connection.execute(forms.delete().where(forms.c.form_hash == first))
                if first == "a":
                    began.set()
                    await until_waiting(database, 1)
                await connection.execute(forms.delete().where(forms.c.form_hash == then))

        async with anyio.create_task_group() as group:
            group.start_soon(sweep, "a", "b")
            await began.wait()
            group.start_soon(sweep, "b", "a")
        assert await database.scalar(sa.select(sa.func.count()).select_from(forms)) == 0

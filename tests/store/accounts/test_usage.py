"""The usage log: counted in memory, written in batches, bounded, never lost on a stop."""

from __future__ import annotations

import datetime as dt
import sys
from typing import Any

import anyio
import pytest
import sqlalchemy as sa

from store.accounts.accounts import Account, AccountPlan, Accounts
from store.accounts.grants import Grants
from store.accounts.keys import Key, Keys, Principal
from store.accounts.usage import LINE_BYTES, OTHER, UsageLog
from store.database import tables
from store.database.database import Database
from tests.accounts import CALLBACK, new_code, usage_lines
from tests.postgres import ON_SQLITE, migrated_database, until_waiting

NOW = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)


def caller(prefix: str) -> Principal:
    """A principal with a key of the first account."""
    account = Account(1, "ada@example.com", AccountPlan.PREMIUM, True, NOW)
    return Principal(account, Key(prefix, "laptop", NOW, None))


CALLER = caller("ps_live_abcdefgh")


@pytest.fixture
async def usage(database: Database) -> UsageLog:
    return await filled(database)


async def filled(database: Database) -> UsageLog:
    """The log of a database with an account that has keys."""
    await Accounts(database).add("ada@example.com", AccountPlan.PREMIUM)
    async with database.write() as connection:
        for prefix in (CALLER.key.prefix, "one", "two"):
            row = {"account_id": 1, "prefix": prefix, "secret_hash": prefix, "name": "laptop"}
            await connection.execute(tables.keys.insert().values(**row, created_at=NOW))
    return UsageLog(database, clock=NOW.timestamp)


async def test_calls_of_one_kind_add_up_over_writes(usage: UsageLog, database: Database) -> None:
    for _ in range(2):
        usage.record(CALLER, "me", "curl/8")
        usage.record(CALLER, "me", "curl/8")
        await usage.flush()

    (entry,) = await usage_lines(database)
    assert entry.calls == 4
    assert entry.client == "curl/8"
    assert entry.last_at == NOW


async def test_what_was_counted_is_written_on_a_stop(usage: UsageLog, database: Database) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(usage.keep_writing)
        await anyio.lowlevel.checkpoint()
        usage.record(CALLER, "me", "curl/8")
        group.cancel_scope.cancel()

    assert len(await usage_lines(database)) == 1


@pytest.mark.engine
async def test_two_processes_that_write_the_same_lines_never_wait_for_each_other(
    postgres_url: str,
) -> None:
    async with Database(await migrated_database(postgres_url, "usage")) as database:
        logs = [await filled(database), UsageLog(database, clock=NOW.timestamp)]
        for operation in ("a", "m", "z"):
            logs[0].record(CALLER, operation, "curl/8")
        await logs[0].flush()
        for log, operations in zip(logs, ("amz", "zma"), strict=True):
            for operation in operations:
                log.record(CALLER, operation, "curl/8")

        async with anyio.create_task_group() as group, database.write() as connection:
            middle = tables.usage.c.operation == "m"
            await connection.execute(tables.usage.update().where(middle).values(host=""))
            for log in logs:
                group.start_soon(log.flush)
            await until_waiting(database, len(logs))

        assert [entry.calls for entry in await usage_lines(database)] == [3, 3, 3]


async def test_calls_with_a_key_that_its_account_does_not_hold_are_not_written(
    usage: UsageLog, database: Database
) -> None:
    """As after a restore, when another account may have the number of the one that called."""
    await Accounts(database).add("grace@example.com", AccountPlan.PREMIUM)
    other = Account(2, "grace@example.com", AccountPlan.PREMIUM, True, NOW)
    usage.record(caller("ps_live_replaced"), "me", "curl/8")
    usage.record(Principal(other, CALLER.key), "me", "curl/8")
    usage.record(CALLER, "me", "curl/8")
    await usage.flush()

    assert await usage_lines(database, 2) == []
    assert [entry.key_prefix for entry in await usage_lines(database)] == [CALLER.key.prefix]


@ON_SQLITE
@pytest.mark.parametrize("letter", ["x", "\N{PILE OF POO}"])
async def test_endlessly_new_clients_do_not_grow_the_memory(
    database: Database, usage: UsageLog, letter: str
) -> None:
    names = [f"{number:03}{letter * 100}" for number in range(500)]
    size = LINE_BYTES + sys.getsizeof(names[0]) + sys.getsizeof("")
    bounded = UsageLog(database, most_bytes=10 * size)
    for name in names:
        bounded.record(CALLER, "me", name)
        bounded.record(CALLER, "me", names[0])
    await bounded.flush()

    entries = await usage_lines(database)
    assert len(entries) == 11
    assert sum(entry.calls for entry in entries if entry.client == OTHER) == 490
    assert sum(entry.calls for entry in entries) == 1000


async def test_endlessly_new_clients_do_not_fill_the_disk(
    usage: UsageLog, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("store.accounts.usage.LINES_A_DAY", 3)
    for number in range(9):
        usage.record(CALLER, "me", f"client {number}")
        await usage.flush()

    entries = await usage_lines(database)
    assert {entry.client for entry in entries} == {"client 0", "client 1", "client 2", OTHER}
    assert sum(entry.calls for entry in entries) == 9


DAY = dt.timedelta(days=1)


async def used(database: Database, *calls: tuple[dt.datetime, str, str, str, str]) -> None:
    """Write calls: when, key prefix, operation, client and host."""
    for moment, prefix, operation, client, host in calls:
        log = UsageLog(database, clock=moment.timestamp)
        log.record(caller(prefix), operation, client, host)
        await log.flush()


async def test_a_days_calls_are_summed_by_key_and_by_operation(
    usage: UsageLog, database: Database
) -> None:
    await used(
        database,
        (NOW, "one", "me", "curl/8", ""),
        (NOW, "one", "me", "sdk/1", "Claude 1"),
        (NOW, "two", "me", "sdk/2", "Claude 1"),
        (NOW, "two", "scan", "curl/8", ""),
        (NOW - DAY, "one", "me", "curl/8", ""),
    )
    by_operation = await usage.calls_by_operation(1, NOW.date(), 10)

    assert await usage.calls_by_key(1, NOW.date()) == {"one": 2, "two": 2}
    assert by_operation == [("me", "Claude 1", 2), ("me", "curl/8", 1), ("scan", "curl/8", 1)]
    assert await usage.calls_by_operation(1, NOW.date(), 1) == [("me", "Claude 1", 2)]
    assert await usage.calls_by_key(2, NOW.date()) == {}


async def test_the_last_use_is_known_of_every_live_key_and_app(
    usage: UsageLog, database: Database
) -> None:
    keys, grants = Keys(database), Grants(database)
    key, _ = await keys.create("ada@example.com", "laptop")
    gone, _ = await keys.create("ada@example.com", "gone")
    idle, _ = await keys.create("ada@example.com", "idle")
    await keys.revoke(gone.prefix)
    await grants.add_client("host", "A host", (CALLBACK,))
    await new_code(grants)
    [app] = await grants.all_grants()
    await used(
        database,
        (NOW, key.prefix, "me", "new", ""),
        (NOW - DAY, key.prefix, "me", "old", ""),
        (NOW - DAY, app.prefix, "scan", "sdk/1", "Claude 1"),
        (NOW, gone.prefix, "me", "curl/8", ""),
    )

    last = await usage.last_uses(1)

    assert set(last) == {key.prefix, app.prefix}
    assert idle.prefix not in last
    assert (last[key.prefix].client, last[key.prefix].last_at) == ("new", NOW)
    assert (last[app.prefix].host, last[app.prefix].last_at) == ("Claude 1", NOW - DAY)


@ON_SQLITE
async def test_no_page_reads_the_whole_log(usage: UsageLog, database: Database) -> None:
    """By SQLite's query plan, every query of the log searches an index."""
    asked = list[tuple[str, Any]]()

    @sa.event.listens_for(database.engine.sync_engine, "before_cursor_execute")
    def note(_c: object, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
        if "FROM usage" in statement or "JOIN usage" in statement:
            asked.append((statement, parameters))

    await usage.calls_by_key(1, NOW.date())
    await usage.calls_by_operation(1, NOW.date(), 10)
    await usage.last_uses(1)
    sa.event.remove(database.engine.sync_engine, "before_cursor_execute", note)

    assert len(asked) == 3
    async with database.read() as connection:
        for statement, parameters in asked:
            plan = await connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            steps = [str(row.detail) for row in plan]
            assert any(step.startswith("SEARCH usage USING") for step in steps)
            assert not any(step.startswith("SCAN usage") for step in steps)

"""The usage log: counted in memory, written in batches, bounded, never lost on a stop."""

from __future__ import annotations

import datetime as dt

import anyio
import pytest

from store.accounts import Accounts, Plan
from store.database import Database
from store.usage import OTHER, PENDING_LIMIT, UsageLog

NOW = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)


@pytest.fixture
async def usage(database: Database) -> UsageLog:
    await Accounts(database).add("ada@example.com", Plan.PREMIUM)
    return UsageLog(database, clock=lambda: NOW)


async def test_calls_of_one_kind_add_up_over_writes(usage: UsageLog) -> None:
    for _ in range(2):
        usage.record(1, "ps_live_abcdefgh", "me", "curl/8")
        usage.record(1, "ps_live_abcdefgh", "me", "curl/8")
        await usage.flush()

    (entry,) = await usage.entries(1)
    assert entry.calls == 4
    assert entry.line.client == "curl/8"
    assert entry.last_at == NOW


async def test_what_was_counted_is_written_on_a_stop(usage: UsageLog) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(usage.keep_writing)
        await anyio.lowlevel.checkpoint()
        usage.record(1, "ps_live_abcdefgh", "me", "curl/8")
        group.cancel_scope.cancel()

    assert len(await usage.entries(1)) == 1


async def test_endlessly_new_clients_do_not_grow_the_memory(usage: UsageLog) -> None:
    for number in range(PENDING_LIMIT + 100):
        usage.record(1, "ps_live_abcdefgh", "me", f"client-{number}")
    await usage.flush()

    entries = await usage.entries(1)
    assert len(entries) == PENDING_LIMIT + 1
    assert sum(entry.calls for entry in entries if entry.line.client == OTHER) == 100

"""What PostgreSQL tells of changes, and what is done where it cannot tell."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
import sqlalchemy as sa

from store.accounts.accounts import AccountPlan, Accounts, utc_now
from store.accounts.watchlist import Watchlist
from store.database import changes as feed
from store.database import tables
from store.database.changes import FRESH_SECONDS, NotifiedChanges, changes_of
from store.database.database import Database
from store.errors import DatabaseUnavailableError
from tests.accounts import count_of, swept
from tests.postgres import fresh_database
from tests.proxy import Proxy, proxied

pytestmark = pytest.mark.engine

ADA = "ada@example.com"
SECONDS = 2.0
"""Within which every change must be noticed."""


async def until(condition: Callable[[], bool], seconds: float = SECONDS) -> float:
    """Wait until a condition holds; returns for how many seconds."""
    began = asyncio.get_running_loop().time()
    with anyio.fail_after(seconds):
        while not condition():
            await asyncio.sleep(0)
    return asyncio.get_running_loop().time() - began


def newest(changes: NotifiedChanges) -> int | None:
    """The number of the newest change; None while it is not known."""
    changes.look()
    return changes.newest


@asynccontextmanager
async def watching(database: Database) -> AsyncIterator[NotifiedChanges]:
    """The changes of a database, watched within the block."""
    changes = changes_of(database)
    assert isinstance(changes, NotifiedChanges)
    task = asyncio.create_task(changes.keep_watching())
    await until(lambda: newest(changes) is not None, 10)
    yield changes
    task.cancel()
    await asyncio.wait([task])


@pytest.fixture
async def url(postgres_url: str, tmp_path: Path) -> str:
    return await fresh_database(postgres_url, tmp_path.name)


@pytest.fixture
async def operator(url: str) -> AsyncIterator[Database]:
    """The database as another process has it, with an account that tracks nothing."""
    async with Database(url) as database:
        await database.migrate()
        await Accounts(database).add(ADA, AccountPlan.PREMIUM)
        yield database


@pytest.fixture
async def proxy(url: str) -> AsyncIterator[Proxy]:
    async with proxied(sa.make_url(url).port or 0) as proxy:
        yield proxy


@pytest.fixture
async def database(url: str, operator: Database, proxy: Proxy) -> AsyncIterator[Database]:
    """The database as a server has it, behind the proxy."""
    address = sa.make_url(url).set(port=proxy.port)
    async with Database(address.render_as_string(hide_password=False), seconds=1) as database:
        yield database


async def change(operator: Database) -> None:
    await Accounts(operator).set_plan(ADA, AccountPlan.NONE)


def forgets(changes: NotifiedChanges) -> Callable[[], bool]:
    """Whether what was kept until now is kept no more."""
    before = newest(changes)
    return lambda: newest(changes) != before


ADDS = (
    "INSERT INTO accounts (email, plan, active, created_at) SELECT each::text, 'none', true, now()"
)


@pytest.mark.parametrize(
    ("statement", "of_all"),
    [
        (f"{ADDS} FROM generate_series(1, 100) AS each", False),
        (f"{ADDS} FROM generate_series(1, 101) AS each", True),
        ("TRUNCATE keys", True),
    ],
)
async def test_what_changes_very_many_accounts_at_once_changes_all(
    database: Database, operator: Database, statement: str, of_all: bool
) -> None:
    async with watching(database) as changes:
        before, has_forgotten = changes.newest_of_all, forgets(changes)
        async with operator.write() as connection:
            await connection.execute(sa.text(statement))
        await until(has_forgotten)
        assert (changes.newest_of_all > before) is of_all


async def test_what_is_rolled_back_or_decides_nothing_is_not_told(
    database: Database, operator: Database
) -> None:
    before = await count_of(operator, tables.changes)
    async with operator.write() as connection:
        await connection.execute(sa.text("DELETE FROM used_forms"))
    with pytest.raises(DatabaseUnavailableError):
        await Watchlist(operator).change(404, lambda _: ["IBM"])
    assert await count_of(operator, tables.changes) == before
    await change(operator)
    assert await count_of(operator, tables.changes) == before + 1


@pytest.mark.parametrize("fault", [Proxy.hang, Proxy.cut])
async def test_a_change_is_noticed_while_the_listening_connection_is_broken(
    database: Database, operator: Database, proxy: Proxy, fault: Callable[[Proxy], None]
) -> None:
    async with watching(database) as changes:
        has_forgotten = forgets(changes)
        fault(proxy)
        await change(operator)
        await until(has_forgotten)
        proxy.go_on()
        await until(lambda: newest(changes) is not None and changes.fault is None, 10)


async def test_a_call_on_a_connection_that_hangs_ends_in_time(
    database: Database, operator: Database, proxy: Proxy
) -> None:
    await Accounts(database).all()
    proxy.hang()
    with anyio.fail_after(10), pytest.raises(DatabaseUnavailableError):
        await Accounts(database).all()
    proxy.go_on()
    assert len(await Accounts(database).all()) == 1


async def test_changes_that_no_notification_tells_are_found_once_their_transaction_ends(
    database: Database, operator: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "CHANNEL", "another")
    async with watching(database) as changes:
        async with operator.write() as connection:
            await connection.execute(sa.text("UPDATE accounts SET active = false"))
            has_forgotten = forgets(changes)
            # A later transaction that ends first.
            await Accounts(operator).add("eve@example.com", AccountPlan.PREMIUM)
            await until(has_forgotten)
            has_forgotten = forgets(changes)
        await until(has_forgotten)


async def test_nothing_counts_while_nobody_watches(database: Database, operator: Database) -> None:
    changes = changes_of(database)
    assert isinstance(changes, NotifiedChanges)
    assert newest(changes) is None


async def test_an_answer_counts_for_a_moment_only(operator: Database) -> None:
    now = 0.0
    assert operator.server is not None
    changes = NotifiedChanges(operator, operator.server, clock=lambda: now)
    task = asyncio.create_task(changes.keep_watching())
    await until(lambda: newest(changes) is not None, 10)
    task.cancel()
    await asyncio.wait([task])

    now = FRESH_SECONDS
    assert newest(changes) is not None
    now = FRESH_SECONDS + 0.1
    assert newest(changes) is None


async def test_noted_changes_are_swept_when_nobody_asks_for_them_any_more(
    operator: Database,
) -> None:
    later = utc_now() + dt.timedelta(hours=2)

    assert (await swept(operator, utc_now))["noted changes"] == 0
    assert (await swept(operator, lambda: later))["noted changes"] > 0

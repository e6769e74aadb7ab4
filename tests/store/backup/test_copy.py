"""Copies: what is there is there again, from and to each engine; then the first one is closed."""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from store.accounts.accounts import AccountPlan, Accounts, utc_now
from store.accounts.audit import OPERATOR, EventKind, add_event
from store.accounts.keys import Keys
from store.accounts.screens import Screens
from store.accounts.watchlist import Watchlist
from store.backup.copy import copy, reopen_accounts
from store.database import tables
from store.database.database import Database
from store.database.migration import HEAD, close, hold, upgrade
from store.errors import BackupError, DatabaseError, DatabaseMovedError
from tests.accounts import rows_of
from tests.postgres import ENGINES, fresh_database, until_waiting

ENGINE = pytest.mark.engine
PAIRS = [
    ("sqlite", "sqlite"),
    pytest.param(("sqlite", "postgresql"), marks=ENGINE),
    pytest.param(("postgresql", "sqlite"), marks=ENGINE),
]

New = Callable[[str], Awaitable[Database]]


@pytest.fixture
async def new(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[New]:
    """Makes empty databases of an engine, without a schema."""
    made = list[Database]()

    async def make(engine: str) -> Database:
        if engine == "sqlite":
            url = f"sqlite+aiosqlite:///{tmp_path / f'{len(made)}.sqlite'}"
        else:
            url = await fresh_database(request.getfixturevalue("postgres_url"), tmp_path.name)
        made.append(Database(url))
        return made[-1]

    yield make
    for database in made:
        await database.close()


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("store.backup.rows.CHUNK_BYTES", 2000)


@pytest.fixture(params=PAIRS)
async def pair(request: pytest.FixtureRequest, new: New) -> tuple[Database, Database]:
    """A database with accounts, and an empty one."""
    first, second = request.param
    return await filled(await new(first)), await new(second)


async def filled(database: Database) -> Database:
    """Some rows of the kinds that engines keep differently."""
    await database.migrate()
    accounts, keys = Accounts(database), Keys(database, prefix="k_")
    for name in ("ada", "Zoe", "b_c", "b-c"):
        account = await accounts.add(f"{name}@example.com", AccountPlan.PREMIUM)
        await keys.create(account.email, f"{name} “key” \\n")
        await Watchlist(database).change(account.id, lambda _: ["b.c", "B-C", "a", "Z"])
        screens = Screens(database)
        await screens.save(account.id, f"{name} “near”", "/screen?sort=-gain", tracked_only=True)
    async with database.write() as connection:
        await connection.execute(
            tables.clients.insert().values(
                client_id="app",
                auth_method="none",
                name="App",
                redirect_uris=["https://ä.example/?a=1&b", "http://127.0.0.1"],
                created_at=dt.datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=dt.UTC),
            )
        )
        use = {"account_id": 1, "day": dt.date(2026, 1, 2), "operation": "scan", "calls": 7}
        for client in ("", "Ab", "a b", "aB", "ä", "~", "\t"):
            line = {**use, "key_prefix": "k", "client": client, "host": "", "last_at": utc_now()}
            await connection.execute(tables.usage.insert().values(**line))
        for number in range(99):
            await add_event(
                connection, EventKind.SIGN_IN, OPERATOR, utc_now(), 1, "x" * (2 * number)
            )
    return database


async def test_all_rows_are_copied_and_counted_and_the_copy_goes_on_as_a_new_database_does(
    pair: tuple[Database, Database],
) -> None:
    first, second = pair
    before = await rows_of(first)
    told = list[tuple[str, int, int]]()

    counts = await copy(first, second, progress=lambda *step: told.append(step))

    assert await rows_of(second) == before
    assert counts == {name: len(rows) for name, rows in before.items()}
    total = sum(counts.values())
    assert {name: (done, of) for name, done, of in told} == {
        "copying": (total, total),
        "comparing": (total, total),
    }
    assert await second.revision() == HEAD
    assert await second.faults() == []
    added = await Accounts(second).add("new@example.com", AccountPlan.PREMIUM)
    assert added.id == 1 + len(before["accounts"])
    async with second.write() as connection:
        await add_event(connection, EventKind.SIGN_OUT, OPERATOR, utc_now(), 1)
    with pytest.raises((DatabaseError, DBAPIError)) as refused:
        async with second.write() as connection:
            await connection.execute(tables.audit.update().values(subject="changed"))
    assert "only added to" in str(refused.value.__cause__ or refused.value)


async def test_the_first_refuses_whoever_uses_it_until_it_is_reopened(
    pair: tuple[Database, Database],
) -> None:
    first, second = pair
    before = await rows_of(first)
    await copy(first, second)

    for table in tables.metadata.tables.values():
        if table.name in tables.OWN:
            continue
        key = next(iter(table.primary_key.columns))
        insert = sa.text(f"INSERT INTO {table.name} DEFAULT VALUES")
        writes = (insert, table.delete(), table.update().values({key.name: key}))
        for statement in (*writes, sa.select(table)):
            with pytest.raises(DatabaseMovedError, match="db reopen"):
                async with first.write() as connection:
                    await connection.execute(statement)
    with pytest.raises(DatabaseMovedError):  # one that another row forbids, too
        await Accounts(first).add("ada@example.com", AccountPlan.PREMIUM)
    with pytest.raises(DatabaseMovedError):
        await first.probe()

    for leave_open in (False, True):  # a closed one is copied again, and stays closed
        await emptied(second)
        await copy(first, second, leave_open=leave_open)
        assert await rows_of(second) == before
        with pytest.raises(DatabaseMovedError):
            await first.probe()

    assert await reopen_accounts(first)
    assert not await reopen_accounts(first)
    await first.probe()
    assert await first.faults() == []
    assert await rows_of(first) == before
    await Accounts(first).add("new@example.com", AccountPlan.PREMIUM)


async def emptied(database: Database) -> None:
    async with database.write() as connection:
        for table in reversed(tables.metadata.sorted_tables):
            if table.name not in tables.OWN:
                await connection.execute(table.delete())


@pytest.mark.parametrize("engine", ENGINES)
async def test_whoever_waits_to_write_while_a_copy_is_made_is_told_that_nothing_was_written(
    engine: str, new: New
) -> None:
    first = await filled(await new(engine))
    refused = list[DatabaseError]()

    async def write(began: anyio.Event) -> None:
        began.set()
        try:
            await Accounts(first).add("late@example.com", AccountPlan.PREMIUM)
        except DatabaseError as error:
            refused.append(error)

    async with anyio.create_task_group() as group, first.exclusive() as connection:
        await connection.run_sync(hold)
        began = anyio.Event()
        group.start_soon(write, began)
        await began.wait()
        if first.server:
            async with Database(first.url) as watcher:
                await until_waiting(watcher, 1)
        await connection.run_sync(close)

    assert [type(error) for error in refused] == [DatabaseMovedError]
    assert await reopen_accounts(first)
    assert "late@example.com" not in str(await rows_of(first))


async def test_a_copy_may_leave_the_first_open_and_one_with_the_schema_alone_is_empty(
    pair: tuple[Database, Database],
) -> None:
    first, second = pair
    await second.migrate()
    await copy(first, second, leave_open=True)

    assert await rows_of(second) == await rows_of(first)
    await Accounts(first).add("new@example.com", AccountPlan.PREMIUM)


async def test_a_database_with_a_row_is_not_copied_into(pair: tuple[Database, Database]) -> None:
    first, second = pair
    await second.migrate()
    async with second.write() as connection:
        await add_event(connection, EventKind.SIGN_IN_FAILED, OPERATOR, utc_now())
    before = await rows_of(second)

    with pytest.raises(DatabaseError, match="table audit"):
        await copy(first, second)
    assert await rows_of(second) == before
    await first.probe()


async def test_tables_of_another_program_are_left_alone(pair: tuple[Database, Database]) -> None:
    first, second = pair
    async with second.exclusive() as connection:
        await connection.execute(sa.text("CREATE TABLE keys (id INTEGER)"))

    with pytest.raises(DatabaseError, match="another program"):
        await copy(first, second)
    async with second.snapshot() as connection:
        assert (await connection.execute(sa.text("SELECT id FROM keys"))).all() == []


async def test_one_of_an_older_schema_or_none_is_not_copied_nor_one_into_itself(
    pair: tuple[Database, Database], new: New
) -> None:
    first, second = pair
    older, none = [await new(second.engine.dialect.name) for _ in range(2)]
    async with older.exclusive() as connection:
        await connection.run_sync(upgrade, "0007")
    assert await none.revision() is None

    with pytest.raises(DatabaseError, match="db upgrade"):
        await copy(older, second)
    with pytest.raises(DatabaseError, match="holds no accounts"):
        await copy(none, second)
    assert await second.revision() is None
    async with Database(first.url) as again:
        with pytest.raises(DatabaseError, match="the same database"):
            await copy(first, again)


async def test_a_file_that_is_not_there_is_not_made(new: New, tmp_path: Path) -> None:
    away = Database(f"sqlite+aiosqlite:///{tmp_path / 'away.sqlite'}")
    with pytest.raises(DatabaseError, match="does not exist"):
        await copy(away, await new("sqlite"))
    with pytest.raises(DatabaseError, match="does not exist"):
        await reopen_accounts(away)
    await away.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.engine
async def test_one_that_is_in_use_is_not_copied_and_its_user_is_not_disturbed(new: New) -> None:
    first, second = await filled(await new("postgresql")), await new("sqlite")
    async with first.write() as connection:
        await add_event(connection, EventKind.PLAN_CHANGED, OPERATOR, utc_now(), 1, "late")
        with pytest.raises(DatabaseError, match="stop the service"):
            await copy(first, second)
    assert await second.revision() is None

    await copy(first, second)
    assert "late" in str((await rows_of(second))["audit"])


@pytest.mark.engine
async def test_a_row_that_the_second_refuses_leaves_both_as_they_were(new: New) -> None:
    first, second = await filled(await new("sqlite")), await new("postgresql")
    async with first.write() as connection:
        await connection.execute(tables.accounts.update().values(plan="x" * 17))

    with pytest.raises(BackupError, match="table accounts"):
        await copy(first, second)
    assert await second.revision() is None
    await first.probe()


async def test_rows_that_are_others_when_read_again_are_not_kept(
    pair: tuple[Database, Database],
) -> None:
    first, second = pair
    await second.migrate()
    async with second.exclusive() as connection:
        await connection.run_sync(disturb)

    with pytest.raises(DatabaseError, match="table keys differ"):
        await copy(first, second)
    assert all(rows == [] for rows in (await rows_of(second)).values())
    await first.probe()


def disturb(connection: sa.Connection) -> None:
    """Let the database store another name than it was given."""
    if connection.dialect.name == "sqlite":
        then = "BEGIN UPDATE keys SET name = 'other' WHERE id = NEW.id; END"
        connection.exec_driver_sql(f"CREATE TRIGGER other AFTER INSERT ON keys {then}")
        return
    body = "BEGIN NEW.name = 'other'; RETURN NEW; END"
    connection.exec_driver_sql(
        f"CREATE FUNCTION other() RETURNS trigger LANGUAGE plpgsql AS $${body}$$"
    )
    when = "BEFORE INSERT ON keys FOR EACH ROW"
    connection.exec_driver_sql(f"CREATE TRIGGER other {when} EXECUTE FUNCTION other()")


@pytest.mark.engine
async def test_a_copy_whose_end_is_not_sure_says_what_to_do(new: New) -> None:
    first, second = await filled(await new("sqlite")), await new("postgresql")
    left = 0

    def cut_at_the_end(what: str, _done: int, _all: int) -> None:
        nonlocal left
        left += 1 if what == "copying" else -1
        if left == 0:  # every chunk that was copied was compared
            with ThreadPoolExecutor() as pool:
                pool.submit(anyio.run, end_connections, second.url).result()

    with pytest.raises(DatabaseError, match="`screener db reopen`"):
        await copy(first, second, progress=cut_at_the_end)

    assert await second.revision() is None
    assert await reopen_accounts(first)


async def end_connections(url: str) -> None:
    """Let the server end every other connection to a database."""
    async with Database(url) as database, database.read() as connection:
        end = sa.text(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        while (await connection.execute(end)).first():
            await anyio.sleep(0.01)

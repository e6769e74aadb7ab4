"""Migrations: they make the tables that the program knows, and what was there still works."""

from __future__ import annotations

import datetime as dt
import errno
import os
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import orjson
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from store.database import tables
from store.database.database import Database
from store.database.migration import drop
from store.errors import DatabaseError, MissingTablesError
from tests.postgres import ENGINES, fresh_database

SCHEMAS = Path(__file__).with_name("schemas")
"""What the versions up to schema 0007 ran, statement by statement."""

PROGRAMS = {
    "sqlite": "SELECT sql FROM sqlite_schema WHERE type = 'trigger'",
    "postgresql": "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal UNION ALL "
    "SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace",
}


@pytest.fixture(params=ENGINES)
async def empty(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """A database without tables."""
    url = f"sqlite+aiosqlite:///{tmp_path / 'accounts.sqlite'}"
    if request.param != "sqlite":
        url = await fresh_database(request.getfixturevalue("postgres_url"), tmp_path.name)
    async with Database(url) as database:
        yield database


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


async def test_a_database_of_another_program_is_not_migrated(empty: Database) -> None:
    async with empty.write() as connection:
        await connection.execute(sa.text("CREATE TABLE accounts (iban VARCHAR(34))"))

    with pytest.raises(DatabaseError, match="another program's: it has a table accounts"):
        await empty.migrate()

    async with empty.write() as connection:
        await connection.execute(sa.text("INSERT INTO accounts VALUES ('DE89')"))


@pytest.mark.parametrize("missing", [[tables.watchlist], tables.metadata.sorted_tables])
async def test_a_database_that_lacks_tables_is_not_said_to_have_moved(
    empty: Database, missing: list[sa.Table]
) -> None:
    await empty.migrate()
    async with empty.write() as connection:
        await connection.run_sync(tables.metadata.drop_all, missing)

    for use in (empty.read, empty.write, empty.snapshot, empty.exclusive):
        with pytest.raises(MissingTablesError, match="restore a backup"):
            async with use() as connection:
                await connection.execute(sa.select(tables.watchlist))


@pytest.mark.parametrize("transaction", [Database.snapshot, Database.exclusive])
async def test_what_fails_beside_the_database_is_not_blamed_on_it(
    empty: Database, transaction: Callable[[Database], AbstractAsyncContextManager[object]]
) -> None:
    with pytest.raises(OSError, match="No space left"):
        async with transaction(empty):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


async def test_a_database_that_earlier_versions_made_comes_to_the_same_schema(
    empty: Database,
) -> None:
    await empty.migrate()
    async with empty.exclusive() as connection:
        here = await connection.run_sync(shape)
        await connection.run_sync(drop)
        made = SCHEMAS / f"0007.{connection.dialect.name}.sql"
        for statement in made.read_text().split("\n\n"):
            await connection.exec_driver_sql(statement)
    assert await empty.migrate() == "0007"

    async with empty.read() as connection:
        assert await connection.run_sync(shape) == here


DEEP = "[" * 900 + "]" * 900
SCREENS = {
    "/screen": {"sort": "nearness"},
    "/screen?family=triangle&status=all&max_distance_pct=2.5&sort=-gain&limit=100&view=charts": {
        "family": "triangle",
        "status": "forming",
        "max_distance_pct": 2.5,
        "sort": "-gain",
        "limit": 100,
        "view": "charts",
    },
    "/screen?direction=bullish&max_distance_pct=0&filters=%5B%7B%22kind%22%3A%22rsi%22%2C%22op%22"
    "%3A%22%3C%22%2C%22value%22%3A40%7D%5D&columns=symbol%2Cstop": {
        "direction": "bullish",
        "max_distance_pct": 0.0,
        "filters": [{"kind": "rsi", "op": "<", "value": 40}],
        "sort": "nearness",
        "columns": "symbol,stop",
    },
    # What cannot be run, or what nobody wrote, is kept as it is read.
    "/screen?family=square&filters=%5B%7B": {
        "family": "square",
        "filters": "[{",
        "sort": "nearness",
    },
    "/screen?max_distance_pct=nan&limit=many&status=": {
        "max_distance_pct": "nan",
        "sort": "nearness",
        "limit": "many",
    },
    "/screen?limit=" + "9" * 5000: {"sort": "nearness", "limit": "9" * 5000},
    "/screen?filters=" + "[" * 900 + "]" * 900: {
        "sort": "nearness",
        "filters": "[" * 900 + "]" * 900,
    },
    "javascript:alert(1)?other=\u202e&sort=%00&view=%ED%A0%80": {
        "sort": "\0",
        "view": "\ufffd\ufffd\ufffd",
    },
    "": {"sort": "nearness"},
}
"""Addresses of saved screens, each with the query that is kept of it."""


async def test_every_saved_screen_is_kept_with_what_it_asks(empty: Database) -> None:
    await empty.migrate()
    at = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    rest = [(f"screen {n}", n % 2 == 0, None if n else "hash" * 16) for n in range(len(SCREENS))]
    async with empty.exclusive() as connection:
        for back in (
            "ALTER TABLE screens RENAME COLUMN query TO address",
            "UPDATE alembic_version SET version_num = '0009'",
        ):
            await connection.exec_driver_sql(back)
        account = {"email": "ada@example.com", "plan": "premium", "active": True, "created_at": at}
        await connection.execute(tables.accounts.insert().values(id=1, **account))
        insert = sa.text(
            "INSERT INTO screens (account_id, name, address, tracked_only, created_at, feed_hash) "
            "VALUES (1, :name, :address, :tracked, :at, :feed)"
        ).bindparams(sa.bindparam("at", type_=tables.screens.c.created_at.type))
        for address, (name, tracked, feed) in zip(SCREENS, rest, strict=True):
            row = {"name": name, "address": address, "tracked": tracked, "at": at, "feed": feed}
            await connection.execute(insert, row)

    assert await empty.migrate() == "0009"

    screens = tables.screens.c
    kept = sa.select(screens.name, screens.tracked_only, screens.feed_hash).order_by(screens.id)
    queries = sa.select(screens.query).order_by(screens.id)
    assert [tuple(row) for row in await empty.rows(kept)] == rest
    found = [orjson.loads(query) for (query,) in await empty.rows(queries)]
    assert found == list(SCREENS.values())


def shape(connection: sa.Connection) -> dict[str, object]:
    """The tables, with the order of their columns; what is beside them; triggers and functions."""
    inspector = sa.inspect(connection)
    found: dict[str, object] = {}
    for table in inspector.get_table_names():
        found[table] = (
            [{**column, "type": str(column["type"])} for column in inspector.get_columns(table)],
            inspector.get_pk_constraint(table),
            sorted(inspector.get_foreign_keys(table), key=str),
            sorted(inspector.get_unique_constraints(table), key=str),
            sorted(inspector.get_indexes(table), key=str),
        )
    programs = PROGRAMS[connection.dialect.name]
    return found | {"programs": sorted(connection.exec_driver_sql(programs).scalars())}

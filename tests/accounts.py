"""Account databases of tests: migrated once, and copied."""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import anyio
import sqlalchemy as sa

from store.accounts.grants import ConsentForm, Grants
from store.accounts.retention import MAX_EVENTS, Periods, Sweeper
from store.accounts.tokens import TokenPair, Tokens
from store.accounts.usage import UsageLine
from store.database import tables
from store.database.database import Database

T = TypeVar("T")

CALLBACK = "http://127.0.0.1/callback"
"""Where an app of the tests is called back."""

PERIODS = Periods(*(dt.timedelta(days=days) for days in (10, 10, 7, 30)))
"""Ten days for usage and events; sessions end after 7 days without use, and after 30."""


def apart(run: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run work in a thread of its own: the calling test may be running an event loop already."""
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(anyio.run, run).result()


def new_form() -> ConsentForm:
    """A consent form by which nothing was approved yet."""
    return ConsentForm(secrets.token_urlsafe(), dt.datetime.now(dt.UTC) + dt.timedelta(hours=1))


async def new_code(grants: Grants, account_id: int = 1, client_id: str = "host", **how: Any) -> str:
    """The code of an app that an account approves; unless told, by a form of its own."""
    asked = (account_id, client_id, "A host", CALLBACK, "challenge")
    return await grants.approve(*asked, **{"form": new_form(), **how})


async def new_tokens(
    grants: Grants, tokens: Tokens, account_id: int = 1, client_id: str = "host"
) -> TokenPair:
    """The tokens of an app that an account approves."""
    code = await new_code(grants, account_id, client_id)
    pair = await tokens.redeem(code, client_id, "challenge", None)
    assert pair is not None
    return pair


def new_accounts(folder: Path) -> str:
    """The URL of an account database in a folder: of the one that is there, or an empty one."""
    path = folder / "accounts.sqlite"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_migrated())
    return f"sqlite+aiosqlite:///{path}"


@asynccontextmanager
async def accounts_in(folder: Path) -> AsyncIterator[Database]:
    """The account database of a folder, open within the block."""
    async with Database(new_accounts(folder)) as database:
        yield database


@cache
def _migrated() -> bytes:
    """An empty account database of SQLite."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "accounts.sqlite"

        async def migrate() -> None:
            async with Database(f"sqlite+aiosqlite:///{path}") as database:
                await database.migrate()

        apart(migrate)
        return path.read_bytes()


async def swept(
    database: Database, clock: Callable[[], dt.datetime], most_events: int = MAX_EVENTS
) -> dict[str, int]:
    """How many rows of what are removed by a sweep at a time."""
    rows, failures = await Sweeper(database, PERIODS, clock=clock, most_events=most_events).sweep()
    assert not failures
    return rows


async def count_of(database: Database, table: sa.Table, *conditions: sa.ColumnElement[bool]) -> int:
    """How many rows of a table fulfil conditions."""
    query = sa.select(sa.func.count()).select_from(table).where(*conditions)
    return await database.scalar(query) or 0


async def rows_of(database: Database) -> dict[str, list[str]]:
    """Every row as a text, by its table's name; none of tables that a copy of accounts lacks."""
    return {
        table.name: sorted(map(str, await database.rows(table.select())))
        for table in tables.metadata.sorted_tables
        if table.name not in tables.OWN
    }


async def usage_lines(database: Database, account_id: int = 1) -> list[UsageLine]:
    """The lines of an account in the log of its usage."""
    query = sa.select(tables.usage).where(tables.usage.c.account_id == account_id)
    return [UsageLine(*row) for row in await database.rows(query)]

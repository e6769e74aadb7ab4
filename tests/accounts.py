"""Account databases of tests: migrated once, and copied."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import anyio

from store.database.database import Database

T = TypeVar("T")


def apart(run: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """Run work in a thread of its own: the calling test may be running an event loop already."""
    with ThreadPoolExecutor(1) as executor:
        return executor.submit(anyio.run, run).result()


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

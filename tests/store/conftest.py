"""The account database: SQLite by `make test`, PostgreSQL too by `make test-engines`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from store.database.database import Database
from tests.accounts import accounts_in
from tests.postgres import ENGINES, emptied


@pytest.fixture(params=ENGINES)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """An empty, migrated account database."""
    if request.param == "sqlite":
        async with accounts_in(tmp_path) as database:
            yield database
        return
    database = await emptied(request.getfixturevalue("shared_url"))
    yield database
    await database.close()


@pytest.fixture
async def on_sqlite(tmp_path: Path) -> AsyncIterator[Database]:
    """An empty account database of SQLite, for what no other engine can change."""
    async with accounts_in(tmp_path) as database:
        yield database

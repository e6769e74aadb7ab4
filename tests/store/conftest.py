"""The account database: SQLite by `make test`, PostgreSQL too by `make test-engines`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from store.database import Database
from tests.postgres import ENGINES, fresh_database


@pytest.fixture(params=ENGINES)
async def database(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Database]:
    """An empty, migrated account database."""
    if request.param == "sqlite":
        url = f"sqlite+aiosqlite:///{tmp_path / 'accounts.sqlite'}"
    else:
        url = await fresh_database(request.getfixturevalue("postgres_url"), tmp_path.name)
    database = Database(url)
    await database.migrate()
    yield database
    await database.close()

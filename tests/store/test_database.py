"""The account database: what a probe says of it, and what is counted of its statements."""

from __future__ import annotations

from pathlib import Path

import pytest

from store.database import Database
from store.errors import DatabaseUnavailableError


@pytest.mark.parametrize("name", ["away.sqlite", "n" * 300])  # the system refuses to look for it
async def test_a_probe_of_a_file_that_cannot_be_looked_for_is_an_error_of_the_store(
    tmp_path: Path, name: str
) -> None:
    database = Database(f"sqlite+aiosqlite:///{tmp_path / name}")
    with pytest.raises(DatabaseUnavailableError):
        await database.probe()
    await database.close()

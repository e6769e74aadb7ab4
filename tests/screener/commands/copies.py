"""What `screener db copy` leaves at an address of a database."""

from __future__ import annotations

from store.database.database import Database
from store.errors import DatabaseMovedError
from tests.accounts import rows_of
from tests.service import at_database

COPY = ("db", "copy")


def rows_at(url: str) -> dict[str, list[str]]:
    """All rows of all tables that are copied; none where there are no tables yet."""

    async def read(database: Database) -> dict[str, list[str]]:
        return await rows_of(database) if await database.revision() else {}

    return at_database(url, read)


def is_closed(url: str) -> bool:
    """Whether whoever uses the accounts is told that they have moved."""

    async def probe(database: Database) -> bool:
        try:
            await database.probe()
        except DatabaseMovedError:
            return True
        return False

    return at_database(url, probe)

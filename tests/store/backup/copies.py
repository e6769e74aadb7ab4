"""What a copy of the accounts has."""

from __future__ import annotations

import datetime as dt

import sqlalchemy as sa

from store.database import tables
from store.database.database import Database


async def rows_of(database: Database) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables that are copied."""
    found = {}
    async with database.snapshot() as connection:
        for table in tables.metadata.sorted_tables:
            if table.name not in tables.OWN:
                rows = await connection.execute(sa.select(table))
                found[table.name] = sorted(map(in_utc, rows), key=repr)
    return found


def in_utc(row: sa.Row[tuple[object, ...]]) -> tuple[object, ...]:
    return tuple(
        each.replace(tzinfo=dt.UTC) if isinstance(each, dt.datetime) else each for each in row
    )

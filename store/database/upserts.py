"""Upserts: inserts that say what happens to a row that is there already."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite
from sqlalchemy.ext.asyncio import AsyncConnection


def upsert(connection: AsyncConnection, table: sa.Table) -> Any:  # noqa: ANN401 - a dialect's own
    """An insert into a table, with `on_conflict_do_nothing` and `on_conflict_do_update`."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # 2 MB that SQLite does not need

    return postgresql.insert(table)

"""Surplus: the rows that give way to newer ones."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection


async def keep_newest(
    connection: AsyncConnection, rows: sa.ColumnElement[bool], seen: sa.Column[Any], most: int
) -> None:
    """Delete the oldest, by when they were `seen`, of the rows that fulfil a condition: all but so
    many. Their table has a key of one column.
    """
    table, (key,) = seen.table, seen.table.primary_key
    surplus = sa.select(key).where(rows).order_by(seen.desc(), key).offset(most)
    # The condition once more: on PostgreSQL a chosen row may have changed meanwhile.
    await connection.execute(table.delete().where(key.in_(surplus), rows))

"""Surplus: the rows that give way to newer ones."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection


async def keep_newest(
    connection: AsyncConnection, rows: sa.ColumnElement[bool], time: sa.Column[Any], most: int
) -> None:
    """Delete the oldest, by a time, of the rows that fulfil a condition: all but so many."""
    table, (key,) = time.table, time.table.primary_key
    surplus = sa.select(key).where(rows).order_by(time.desc(), key).offset(most)
    # The condition once more: on PostgreSQL a chosen row may have changed meanwhile.
    await connection.execute(table.delete().where(key.in_(surplus), rows))

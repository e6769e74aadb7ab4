"""Access: what opens an account (sessions, keys, apps), ended together in one transaction."""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from store import tables
from store.audit import Actor, Kind, note


class Ended(NamedTuple):
    """How many of each were ended."""

    sessions: int
    keys: int = 0
    apps: int = 0


async def end_sessions(
    connection: AsyncConnection, account_id: int, *, but: str | None = None
) -> int:
    """End the sessions of an account, except for the one with the token hash `but`.

    Its known browsers become strange again: one of them may be whose access ends.
    """
    sessions, browsers = tables.sessions, tables.browsers
    await connection.execute(browsers.delete().where(browsers.c.account_id == account_id))
    others = sessions.c.token_hash != but if but else sa.true()
    ended = await connection.execute(
        sessions.delete().where(sessions.c.account_id == account_id, others)
    )
    return ended.rowcount


async def end_credentials(
    connection: AsyncConnection, account_id: int, actor: Actor, now: dt.datetime
) -> tuple[int, int]:
    """Revoke every live key and app of an account; returns how many of each."""
    counts = []
    for table, event in ((tables.keys, Kind.KEY_REVOKED), (tables.grants, Kind.APP_REVOKED)):
        revoked = await connection.execute(
            table.update()
            .where(table.c.account_id == account_id, table.c.revoked_at.is_(None))
            .values(revoked_at=now)
            .returning(table.c.prefix, table.c.name)
        )
        rows = revoked.all()
        for row in rows:
            await note(connection, event, actor, now, account_id, f"{row.prefix} {row.name}")
        counts.append(len(rows))
    return counts[0], counts[1]


async def delete_account(connection: AsyncConnection, account_id: int) -> dict[str, int]:
    """Delete an account and every row about it; returns how many rows of each table."""
    grants, deleted = tables.grants, {}
    own_grants = sa.select(grants.c.id).where(grants.c.account_id == account_id)
    for table in (tables.codes, tables.tokens):
        gone = await connection.execute(table.delete().where(table.c.grant_id.in_(own_grants)))
        deleted[table.name] = gone.rowcount
    for table in (
        tables.grants,
        tables.keys,
        tables.sessions,
        tables.browsers,
        tables.watchlist,
        tables.usage,
        tables.audit,
    ):
        gone = await connection.execute(table.delete().where(table.c.account_id == account_id))
        deleted[table.name] = gone.rowcount
    await connection.execute(tables.accounts.delete().where(tables.accounts.c.id == account_id))
    return deleted

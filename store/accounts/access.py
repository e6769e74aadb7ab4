"""Access: what opens an account (sessions, keys, apps), ended together in one transaction."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from typing import NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from store.accounts.audit import Actor, Kind, note
from store.database import tables


class Ended(NamedTuple):
    """How many of each were ended."""

    sessions: int
    keys: int = 0
    apps: int = 0


async def end_sessions(
    connection: AsyncConnection, account_id: int, *, but: Collection[str] = ()
) -> int:
    """End the sessions of an account, except for that with a token hash of `but`.

    Its known browsers, with the same exception, become strange again: one of them may be whose
    access ends.
    """
    for table in (tables.browsers, tables.sessions):
        ended = await connection.execute(
            table.delete().where(table.c.account_id == account_id, table.c.token_hash.not_in(but))
        )
    return ended.rowcount


async def end_credentials(
    connection: AsyncConnection, account_id: int, actor: Actor, now: dt.datetime
) -> tuple[int, int]:
    """Revoke every live key and app of an account; returns how many of each."""
    counts, keys = [], tables.keys
    lasting = sa.or_(keys.c.expires_at.is_(None), keys.c.expires_at > now)
    for table, live, event in (
        (keys, lasting, Kind.KEY_REVOKED),
        (tables.grants, sa.true(), Kind.APP_REVOKED),
    ):
        revoked = await connection.execute(
            table.update()
            .where(table.c.account_id == account_id, table.c.revoked_at.is_(None), live)
            .values(revoked_at=now)
            .returning(table.c.prefix, table.c.name)
        )
        rows = revoked.all()
        for row in rows:
            await note(connection, event, actor, now, account_id, f"{row.prefix} {row.name}")
        counts.append(len(rows))
    return counts[0], counts[1]


async def delete_account(connection: AsyncConnection, account_id: int) -> dict[str, int]:
    """Delete a locked account and every row about it; returns how many rows of each table."""
    grants, deleted = tables.grants, {}
    own_grants = sa.select(grants.c.id).where(grants.c.account_id == account_id)
    # On PostgreSQL this waits for who is adding tokens, as the lock on the account does.
    await connection.execute(own_grants.with_for_update())
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

"""Lapsed: grants under which nothing lives any more, and clients that nobody needs; both go."""

from __future__ import annotations

import datetime as dt
from typing import Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from store.accounts.credentials import LIFETIMES, Kind
from store.accounts.unapproved import LIFETIME, UNAPPROVED
from store.database.tables import clients, codes, grants, tokens

UNUSED_LIFETIME: Final = dt.timedelta(days=180)
"""How long an approved client is kept after it last got a code or tokens."""

IDLE_LIFETIME: Final = dt.timedelta(days=1)
"""How long it is kept then if it has no grant, although its tokens would live: it never fetched
them, or its grant was revoked and has gone."""

REVOKED_KEPT: Final = 200
"""Revoked grants of an account that are kept, the newest, until their tokens have expired."""

MOST_AT_ONCE: Final = 10_000
"""Grants above that number which one sweep removes."""


async def remove_grants(connection: AsyncConnection, now: dt.datetime) -> int:
    """Delete the grants whose codes and tokens have all expired; return how many were deleted.

    Used codes and tokens stay as long as their grant, because presenting one again revokes it. Of
    revoked grants an account keeps so many, since approving and revoking costs it nothing.
    """
    alive = sa.union(
        *(
            sa.select(table.c.grant_id).where(table.c.expires_at > now).correlate(None)
            for table in (codes, tokens)
        )
    )
    surplus = list((await connection.execute(_surplus())).scalars())
    for column in (codes.c.grant_id, tokens.c.grant_id, grants.c.id):
        gone = column.not_in(alive) | column.in_(surplus)
        deleted = await connection.execute(column.table.delete().where(gone))
    return deleted.rowcount


async def remove_clients(connection: AsyncConnection, now: dt.datetime) -> int:
    """Delete the clients without a grant that nobody needs; return how many were deleted.

    A client whose tokens expired keeps its registration, so that its person may come back.
    """
    used_at = clients.c.used_at
    unneeded = sa.or_(
        UNAPPROVED & (clients.c.created_at <= now - LIFETIME),
        used_at <= now - UNUSED_LIFETIME,
        (used_at <= now - IDLE_LIFETIME) & (used_at > now - LIFETIMES[Kind.REFRESH]),
    )
    granted = clients.c.client_id.in_(sa.select(grants.c.client_id))
    return (await connection.execute(clients.delete().where(unneeded, ~granted))).rowcount


def _surplus() -> sa.Select[tuple[int]]:
    """Some of the revoked grants that are too many of their account."""
    place = sa.func.row_number().over(
        partition_by=grants.c.account_id, order_by=(grants.c.revoked_at.desc(), grants.c.id.desc())
    )
    revoked = sa.select(grants.c.id, place.label("place")).where(grants.c.revoked_at.is_not(None))
    ranked = revoked.subquery()
    return sa.select(ranked.c.id).where(ranked.c.place > REVOKED_KEPT).limit(MOST_AT_ONCE)

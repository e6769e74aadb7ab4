"""Clients that nobody has approved: anyone may add them, so their number is bounded.

Where there are too many, the oldest gives way: of the network that adds one, if that has too many
of its own, else of the network that has most.
"""

from __future__ import annotations

import datetime as dt

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from store.database.tables import clients

PER_NETWORK = 1_000
"""Unapproved clients that one network may have added: 4 MB. Hosts share networks, so nobody's
registrations may drive out, within minutes, an app that somebody else is approving."""

IN_ALL = 10_000
"""Unapproved clients of all networks together: 40 MB at most."""

LIFETIME = dt.timedelta(hours=24)
"""How long a client that nobody has approved is kept."""

UNAPPROVED = clients.c.approved_at.is_(None)


async def make_room(connection: AsyncConnection, network: str) -> None:
    """Delete the oldest unapproved clients beyond the bounds, after a network has added one."""
    await _keep_newest(connection, network, PER_NETWORK)
    number = sa.select(sa.func.count()).select_from(clients).where(UNAPPROVED)
    surplus = (await connection.scalar(number) or 0) - IN_ALL
    if surplus > 0:
        size = sa.func.count()
        crowded = await connection.execute(
            sa.select(clients.c.network, size)
            .where(UNAPPROVED)
            .group_by(clients.c.network)
            .order_by(size.desc(), sa.func.min(clients.c.created_at))
            .limit(1)
        )
        busiest, has = crowded.one()
        await _keep_newest(connection, busiest, max(0, has - surplus))


async def _keep_newest(connection: AsyncConnection, network: str, most: int) -> None:
    surplus = (
        sa.select(clients.c.client_id)
        .where(UNAPPROVED, clients.c.network == network)
        .order_by(clients.c.created_at.desc(), clients.c.client_id)
        .offset(most)
    )
    # UNAPPROVED once more: on PostgreSQL a chosen one may have been approved meanwhile.
    chosen = clients.c.client_id.in_(surplus)
    await connection.execute(clients.delete().where(chosen, UNAPPROVED))

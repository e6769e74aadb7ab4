"""Clients: the apps that may ask for access, and how many are stored for how long.

Anyone may add a client, so the number of those that nobody has approved is bounded. Where there are
too many, the oldest gives way: of the network that adds one, if that has too many of its own, else
of the network that has most.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from store.accounts.credentials import LIFETIMES, CredentialKind
from store.accounts.surplus import keep_newest
from store.database.tables import clients, columns_of, grants

PER_NETWORK = 1_000
"""Unapproved clients that one network may have added: 4 MB. Hosts share networks, so nobody's
registrations may drive out, within minutes, an app that somebody else is approving."""

IN_ALL = 10_000
"""Unapproved clients of all networks together: 40 MB at most."""

UNAPPROVED_LIFETIME: Final = dt.timedelta(hours=24)
"""How long a client that nobody has approved is kept."""

UNUSED_LIFETIME: Final = dt.timedelta(days=180)
"""How long an approved client is kept after it last got a code or tokens."""

IDLE_LIFETIME: Final = dt.timedelta(days=1)
"""How long it is kept then if it has no grant, although its tokens would live: it never fetched
them, or its grant was revoked and has gone."""

UNAPPROVED = clients.c.approved_at.is_(None)


@dataclass(frozen=True, slots=True)
class Client:
    """An app that has registered or published a client document; its claims are not verified."""

    client_id: str
    name: str
    auth_method: str
    secret_hash: str | None
    """None for a public client."""
    redirect_uris: tuple[str, ...]
    created_at: dt.datetime
    approved_at: dt.datetime | None = None
    """When an account first approved it."""
    fresh_until: dt.datetime | None = None
    """Until when its client document may be used without fetching it again; None if registered."""


CLIENT = columns_of(clients, Client)


def client_of(row: sa.Row[*tuple[Any, ...]]) -> Client:
    """A client from its `CLIENT` columns."""
    client_id, name, auth_method, secret_hash, uris, *times = row
    return Client(client_id, name, auth_method, secret_hash, tuple(uris), *times)


def unneeded(now: dt.datetime) -> sa.ColumnElement[bool]:
    """Clients without a grant that nobody needs. One whose tokens expired keeps its registration,
    so that its person may come back.
    """
    used_at = clients.c.used_at
    unused = sa.or_(
        UNAPPROVED & (clients.c.created_at <= now - UNAPPROVED_LIFETIME),
        used_at <= now - UNUSED_LIFETIME,
        (used_at <= now - IDLE_LIFETIME) & (used_at > now - LIFETIMES[CredentialKind.REFRESH]),
    )
    return unused & clients.c.client_id.not_in(sa.select(grants.c.client_id))


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
    own = UNAPPROVED & (clients.c.network == network)
    await keep_newest(connection, own, clients.c.created_at, most)

"""Credentials: the format and the lifetimes of those that sign-in issues, and how any is revoked.

They are opaque. Their prefix tells people and secret scanners what they are, and no API key begins
with it.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import secrets
import string
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from store.accounts import BRAND
from store.accounts.audit import Actor, EventKind, add_event
from store.database import tables

ALPHABET = string.ascii_letters + string.digits

SECRET_LENGTH = 43
"""Random characters of a credential (256 bits)."""

APP_ID_LENGTH = 8
"""Random characters of a grant's id, which has 16 characters in all, like a key's prefix."""


class CredentialKind(StrEnum):
    """The purpose of a credential."""

    CODE = "code"
    ACCESS = "access"
    REFRESH = "refresh"


PREFIXES = {
    CredentialKind.CODE: f"{BRAND}ac_",
    CredentialKind.ACCESS: f"{BRAND}at_",
    CredentialKind.REFRESH: f"{BRAND}rt_",
}

LIFETIMES = {
    CredentialKind.CODE: dt.timedelta(seconds=60),
    CredentialKind.ACCESS: dt.timedelta(days=7),
    CredentialKind.REFRESH: dt.timedelta(days=90),
}


def new_credential(kind: CredentialKind) -> str:
    """A new random credential."""
    return PREFIXES[kind] + random_text(SECRET_LENGTH)


def new_feed_secret() -> str:
    """The secret in the address of a feed."""
    return f"{BRAND}feed_" + random_text(SECRET_LENGTH)


def new_seed() -> str:
    """A random seed, from which the successors of one refresh token are derived."""
    return random_text(SECRET_LENGTH)


def successor(kind: CredentialKind, refresh_token: str, seed: str) -> str:
    """The credential that follows a refresh token; the same seed gives the same credential.

    It is an HMAC-SHA256 keyed with the token. Only the client has the token, so the credential
    cannot be derived from the seed and the hashes in the database.
    """
    digest = hmac.digest(refresh_token.encode(), f"{kind}:{seed}".encode(), hashlib.sha256)
    number, letters = int.from_bytes(digest), ""
    for _ in range(SECRET_LENGTH):
        number, index = divmod(number, len(ALPHABET))
        letters += ALPHABET[index]
    return PREFIXES[kind] + letters


def new_grant_prefix() -> str:
    """The id of a grant, used wherever a key would show its prefix."""
    return "pso_app_" + random_text(APP_ID_LENGTH)


def new_client_id() -> str:
    """The id of a client; not a secret."""
    return "pso_client_" + random_text(24)


def new_client_secret() -> str:
    """A client's secret. Only unreserved characters: some hosts do not encode it for Basic."""
    return "pso_cs_" + random_text(SECRET_LENGTH)


def not_expired(now: dt.datetime) -> sa.ColumnElement[bool]:
    """The condition of keys that have not expired."""
    return tables.keys.c.expires_at.is_(None) | (tables.keys.c.expires_at > now)


async def revoke(
    connection: AsyncConnection,
    table: sa.Table,
    condition: sa.ColumnElement[bool],
    actor: Actor,
    now: dt.datetime,
    event: EventKind | None = None,
) -> Sequence[sa.Row[*tuple[Any, ...]]]:
    """Revoke the keys or grants that fulfil a condition and are not revoked, with everything that
    they issued; each leaves an event. Returns their rows.
    """
    kind = event or (EventKind.KEY_REVOKED if table is tables.keys else EventKind.APP_REVOKED)
    revoked = await connection.execute(
        table.update()
        .where(condition, table.c.revoked_at.is_(None))
        .values(revoked_at=now)
        .returning(*table.c)
    )
    rows = revoked.all()
    for row in rows:
        await add_event(connection, kind, actor, now, row.account_id, f"{row.prefix} {row.name}")
    return rows


async def end_feeds(
    connection: AsyncConnection,
    condition: sa.ColumnElement[bool],
    actor: Actor,
    now: dt.datetime,
) -> int:
    """Delete the feed URLs of the screens that fulfil a condition; each leaves an event. Returns
    how many there were.
    """
    screens = tables.screens
    ended = await connection.execute(
        screens.update()
        .where(condition, screens.c.feed_hash.is_not(None))
        .values(feed_hash=None, feed_at=None)
        .returning(screens.c.account_id, screens.c.name)
    )
    rows = ended.all()
    for row in rows:
        await add_event(connection, EventKind.FEED_ENDED, actor, now, row.account_id, row.name)
    return len(rows)


def random_text(length: int) -> str:
    """Random characters of a credential or key."""
    return "".join(secrets.choice(ALPHABET) for _ in range(length))

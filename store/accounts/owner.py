"""Owner: who acts on a page is still signed in when what they do takes effect."""

from __future__ import annotations

import datetime as dt

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from store.accounts.accounts import aware, hash_secret
from store.accounts.sessions import PROOF
from store.database import tables
from store.errors import SignedOutError


async def check_owner(
    connection: AsyncConnection, account_id: int, token: str, now: dt.datetime
) -> None:
    """Refuse what a session does that has ended, or in which no password was given for long.

    Lock the account first: whoever ends all access holds the same lock, so that a session makes
    nothing that outlives its end.

    Raises:
        SignedOutError: the account has no such session, or not with a password within PROOF.
    """
    sessions = tables.sessions
    query = sa.select(sessions.c.proven_at).where(
        sessions.c.token_hash == hash_secret(token), sessions.c.account_id == account_id
    )
    proven_at = await connection.scalar(query)
    if proven_at is None or not now - PROOF < aware(proven_at) <= now:
        raise SignedOutError

"""Known browsers: those in which an account has signed in before.

Each holds a random token, and the database only its SHA-256 (OWASP, "Slow Down Online Guessing
Attacks with Device Cookies"). The token is no credential: the password is still asked for. It only
keeps the guesses of strangers apart from those of the account's owner.
"""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Callable

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from store.accounts.accounts import hash_secret, lock_account, utc_now
from store.database import tables
from store.database.database import Database

TOKEN_BYTES = 32

LIFETIME = dt.timedelta(days=365)
"""How long a browser stays known without a sign-in."""

PER_ACCOUNT = 20
"""Known browsers of an account; one more takes the place of the one unseen for longest."""


class Browsers:
    """Known browsers by token; each method is one transaction."""

    def __init__(
        self,
        database: Database,
        *,
        clock: Callable[[], dt.datetime] = utc_now,
        token_factory: Callable[[], str] = lambda: secrets.token_urlsafe(TOKEN_BYTES),
    ) -> None:
        self._database = database
        self._clock = clock
        self._token_factory = token_factory

    async def knows(self, token: str, email: str) -> bool:
        """Whether the account with this address has signed in with this browser."""
        browsers, accounts = tables.browsers, tables.accounts
        query = (
            sa.select(browsers.c.token_hash)
            .join(accounts, accounts.c.id == browsers.c.account_id)
            .where(
                browsers.c.token_hash == hash_secret(token),
                browsers.c.seen_at > self._clock() - LIFETIME,
                accounts.c.email == email.strip().lower(),
            )
        )
        async with self._database.read() as connection:
            return await connection.scalar(query) is not None

    async def remember(self, token: str | None, account_id: int) -> str:
        """Remember a browser in which the account has just signed in.

        Returns its token: the one it has, if that is this account's, or else a new one.

        Raises:
            AccountError: the account has been deleted meanwhile.
        """
        browsers, now = tables.browsers, self._clock()
        async with self._database.write() as connection:
            await lock_account(connection, account_id)
            if token is not None:
                own = browsers.c.token_hash == hash_secret(token)
                seen = await connection.execute(
                    browsers.update()
                    .where(own, browsers.c.account_id == account_id)
                    .values(seen_at=now)
                )
                if seen.rowcount:
                    return token
            token = self._token_factory()
            row = {"token_hash": hash_secret(token), "account_id": account_id, "seen_at": now}
            await connection.execute(browsers.insert().values(row))
            await _make_room(connection, account_id)
        return token

    async def sweep(self) -> int:
        """Delete the browsers unseen for a year; return how many were deleted."""
        browsers = tables.browsers
        async with self._database.write(patient=True) as connection:
            deleted = await connection.execute(
                browsers.delete().where(browsers.c.seen_at <= self._clock() - LIFETIME)
            )
        return deleted.rowcount


async def _make_room(connection: AsyncConnection, account_id: int) -> None:
    browsers = tables.browsers
    owned = browsers.c.account_id == account_id
    newest = sa.select(browsers.c.token_hash).where(owned)
    newest = newest.order_by(browsers.c.seen_at.desc(), browsers.c.token_hash).limit(PER_ACCOUNT)
    await connection.execute(browsers.delete().where(owned, browsers.c.token_hash.not_in(newest)))

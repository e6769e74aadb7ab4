"""Saved screens: what an account keeps under a name, and the feed of each at a secret address.

The secret of a feed's address is shown once and stored only as its SHA-256.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from store.accounts.accounts import (
    ACCOUNT,
    Account,
    AccountRows,
    check_name,
    hash_secret,
    lock_account,
    to_account,
)
from store.accounts.audit import Actor, EventKind, add_event, check_pace
from store.accounts.credentials import end_feeds, new_feed_secret
from store.accounts.sessions import check_owner
from store.database import tables
from store.database.database import VALUE, LookUp
from store.database.tables import columns_of
from store.errors import AccountError, TooManyError

MAX_SCREENS: Final = 50
"""Screens that an account may save."""

FEEDS_PER_HOUR: Final = 20
"""Addresses of feeds that the owner of an account may make within an hour."""

MAX_QUERY: Final = 8 * 1024
"""Characters of the text of a query, about what a request for it may have."""


@dataclass(frozen=True, slots=True)
class SavedScreen:
    """A screen that somebody saved."""

    id: int
    name: str
    query: str
    """What it asks of the scan and how it shows that, as JSON in one spelling: which screen of the
    account it is.
    """
    tracked_only: bool
    """Whether it holds tracked tickers alone."""
    created_at: dt.datetime
    feed_at: dt.datetime | None
    """When the address of its feed was made; None if it has no feed."""


SCREEN = columns_of(tables.screens, SavedScreen)

OF_ACCOUNT = LookUp(
    sa.select(*SCREEN).where(tables.screens.c.account_id == VALUE).order_by(tables.screens.c.id)
)
OF_FEED = LookUp(
    sa.select(*ACCOUNT, *SCREEN)
    .join(tables.accounts, tables.accounts.c.id == tables.screens.c.account_id)
    .where(tables.screens.c.feed_hash == VALUE, tables.accounts.c.active)
)


class Screens(AccountRows):
    """Saved screens."""

    async def of_account(self, account_id: int) -> list[SavedScreen]:
        """The screens of an account, the oldest first."""
        return [SavedScreen(*row) for row in await self._database.look_up(OF_ACCOUNT, account_id)]

    async def save(
        self, account_id: int, name: str, query: str, *, tracked_only: bool
    ) -> SavedScreen:
        """Save a screen, or change the name and the limit of the one with this query.

        Raises:
            AccountError: the name cannot be used or is that of another screen, the query is too
                long, or the account has been deleted meanwhile.
            TooManyError: the account has saved as many as it may.
        """
        name = check_name(name, "A screen's")
        if len(query) > MAX_QUERY:
            raise AccountError("This screen has too many conditions to be saved.")
        screens, values = tables.screens, {"name": name, "tracked_only": tracked_only}
        async with self._database.write() as connection:
            await lock_account(connection, account_id)
            own = await _of_account(connection, account_id)
            saved = next((one for one in own if one.query == query), None)
            if name in {one.name for one in own if one != saved}:
                raise AccountError("You have another screen of this name; choose another one.")
            if saved is None and len(own) >= MAX_SCREENS:
                raise TooManyError(f"You can save {MAX_SCREENS} screens; remove one first.")
            if saved is None:
                values |= {"account_id": account_id, "created_at": self._clock()}
                await connection.execute(screens.insert().values(query=query, **values))
            else:
                change = screens.update().where(screens.c.id == saved.id)
                await connection.execute(change.values(values))
            own = await _of_account(connection, account_id)
            return next(one for one in own if one.query == query)

    async def remove(self, account_id: int, number: int, *, actor: Actor) -> bool:
        """Remove a screen with its feed; False when the account has no such screen."""
        own = _own(account_id, number)
        async with self._database.write() as connection:
            await end_feeds(connection, own, actor, self._clock())
            removed = await connection.execute(tables.screens.delete().where(own))
        return bool(removed.rowcount)

    async def new_feed(
        self, account_id: int, number: int, session: str, *, actor: Actor
    ) -> str | None:
        """Give a screen's feed a new address, in place of the old one if it has one, and return
        its secret, which cannot be read again; None when the account has no such screen. The token
        is that of a session of the account.

        Raises:
            AccountError: the account has been deleted meanwhile.
            SignedOutError: the session has ended, or was proven too long ago.
            TooOftenError: so many were made within the last hour.
        """
        own, secret = _own(account_id, number), new_feed_secret()
        async with self._database.write() as connection:
            await lock_account(connection, account_id)
            now = self._clock()
            await check_owner(connection, account_id, session, now)
            await check_pace(connection, account_id, EventKind.FEED_CREATED, FEEDS_PER_HOUR, now)
            await end_feeds(connection, own, actor, now)
            made = await connection.execute(
                tables.screens.update()
                .where(own)
                .values(feed_hash=hash_secret(secret), feed_at=now)
                .returning(tables.screens.c.name)
            )
            name = made.scalar_one_or_none()
            if name is not None:
                await add_event(connection, EventKind.FEED_CREATED, actor, now, account_id, name)
        return None if name is None else secret

    async def end_feed(self, account_id: int, number: int, *, actor: Actor) -> bool:
        """Delete the URL of a feed; False when there is none."""
        async with self._database.write() as connection:
            own = _own(account_id, number)
            return bool(await end_feeds(connection, own, actor, self._clock()))

    async def of_feed(self, secret: str) -> tuple[Account, SavedScreen] | None:
        """The account and the screen of a feed; None for any other secret, and while the account is
        inactive.
        """
        rows = await self._database.look_up(OF_FEED, hash_secret(secret))
        if not rows:
            return None
        return to_account(rows[0]), SavedScreen(*rows[0][len(ACCOUNT) :])


def _own(account_id: int, number: int) -> sa.ColumnElement[bool]:
    screens = tables.screens
    return (screens.c.account_id == account_id) & (screens.c.id == number)


async def _of_account(connection: AsyncConnection, account_id: int) -> list[SavedScreen]:
    rows: Any = await connection.execute(OF_ACCOUNT.query, {"value": account_id})
    return [SavedScreen(*row) for row in rows]

"""Keys: the API keys of accounts. A key's secret is shown once and stored only as its SHA-256."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from store.accounts.accounts import (
    ACCOUNT,
    Account,
    AccountRows,
    Clock,
    account_of,
    check_name,
    hash_secret,
    lock_account,
    to_account,
    utc_now,
)
from store.accounts.audit import OPERATOR, Actor, EventKind, add_event, check_pace
from store.accounts.credentials import not_expired, random_text, revoke
from store.accounts.sessions import check_owner
from store.database import tables
from store.database.database import VALUE, Database, LookUp
from store.database.tables import columns_of
from store.errors import AccountError, TooManyError

PREFIX_LENGTH = 16
SECRET_LENGTH = 48
"""Random characters after the key prefix: eight identify the key, forty (238 bits) prove it."""

MAX_KEYS = 50
"""Live keys an account may have. Rate limits count by key, so the number of keys is limited."""


@dataclass(frozen=True, slots=True)
class Key:
    """An API key without its secret."""

    prefix: str
    name: str
    created_at: dt.datetime
    revoked_at: dt.datetime | None
    expires_at: dt.datetime | None = None
    """When it stops working by itself; None if it does not."""
    read_only: bool = False
    """Whether it may only read: it cannot change what its account tracks."""

    def is_live(self, now: dt.datetime) -> bool:
        """Whether it opens its account, if that is active."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


@dataclass(frozen=True, slots=True)
class Principal:
    """The holder of a live credential: an active account, and the key or grant behind it."""

    account: Account
    key: Key
    expires_at: dt.datetime | None = None
    """When the credential expires; None for a key without an end."""


KEY = columns_of(tables.keys, Key)

HOLDER = LookUp(
    sa.select(*ACCOUNT, *KEY, sa.null())
    .join(tables.accounts, tables.accounts.c.id == tables.keys.c.account_id)
    .where(tables.keys.c.secret_hash == VALUE)
)
"""The holder of a key, active or not, as `principal_of` reads it."""


def principal_of(rows: Sequence[Sequence[Any]], now: dt.datetime) -> Principal | None:
    """The principal of a credential that was looked up, if that is live: from the columns of its
    account, of the key or grant behind it, and the end that it has besides.
    """
    if not rows:
        return None
    account, (*behind, ends) = to_account(rows[0]), rows[0][len(ACCOUNT) :]
    key = Key(*behind)
    end = ends or key.expires_at
    if not account.active or not key.is_live(now) or (end is not None and end <= now):
        return None
    return Principal(account, key, end)


class Keys(AccountRows):
    """API keys."""

    def __init__(
        self, database: Database, *, prefix: str = "ps_live_", clock: Clock = utc_now
    ) -> None:
        super().__init__(database, clock=clock)
        self.prefix = prefix

    async def create(
        self,
        email: str,
        name: str,
        *,
        expires_at: dt.datetime | None = None,
        read_only: bool = False,
        per_hour: int | None = None,
        session: str | None = None,
        actor: Actor = OPERATOR,
    ) -> tuple[Key, str]:
        """Make a key and return it with its secret, which cannot be read again.

        With `per_hour`, an owner may make no more keys than that within an hour. With the token of
        a session, that session must be the account's.

        Raises:
            AccountError: no such account, an unusable name, or an end that is past.
            SignedOutError: the session has ended, or was proven too long ago.
            TooManyError: the account has as many live keys as it may.
            TooOftenError: too many keys were made within the last hour.
        """
        name = check_name(name, "A key's")
        if expires_at is not None and expires_at <= self._clock():
            raise AccountError("A key must end in the future.")
        async with self._database.write() as connection:
            account = await account_of(connection, email)
            await lock_account(connection, account.id)
            if session is not None:
                await check_owner(connection, account.id, session, self._clock())
            await self._check_room(connection, account.id)
            if per_hour is not None:
                now = self._clock()
                await check_pace(connection, account.id, EventKind.KEY_CREATED, per_hour, now)
            return await self._insert(connection, account.id, actor, name, expires_at, read_only)

    async def of_account(self, email: str) -> list[Key]:
        """Every key of an account, including revoked ones, oldest first."""
        async with self._database.read() as connection:
            account = await account_of(connection, email)
        return await self._keys(account.id)

    async def unrevoked(self, account_id: int, include: Collection[str] = ()) -> list[Key]:
        """The keys of an account that were not revoked, or have one of the prefixes `include`,
        oldest first. Expired ones are among them.
        """
        keys = tables.keys
        shown = keys.c.revoked_at.is_(None) | keys.c.prefix.in_(include)
        return await self._keys(account_id, shown)

    async def replace(self, prefix: str, *, actor: Actor = OPERATOR) -> tuple[Key, str]:
        """Revoke a live key and make a new one for the same account, equal but for the secret.

        Raises:
            AccountError: no live key has this prefix.
        """
        async with self._database.write() as connection:
            old = await self._revoke(connection, prefix, actor)
            if old.expires_at and old.expires_at <= self._clock():
                raise AccountError(f"{prefix} has expired; create another key.")
            copied = (old.name, old.expires_at, old.read_only)
            return await self._insert(connection, old.account_id, actor, *copied)

    async def revoke(self, prefix: str, *, actor: Actor = OPERATOR) -> None:
        """Revoke a live key.

        Raises:
            AccountError: no live key has this prefix.
        """
        async with self._database.write() as connection:
            await self._revoke(connection, prefix, actor)

    async def revoke_own(self, account_id: int, prefix: str, *, actor: Actor = OPERATOR) -> bool:
        """Revoke a live key of this account; False when the account has no such key."""
        keys = tables.keys
        own = (keys.c.prefix == prefix) & (keys.c.account_id == account_id)
        async with self._database.write() as connection:
            return bool(await revoke(connection, keys, own, actor, self._clock()))

    async def principal(self, secret: str) -> Principal | None:
        """The holder of a live key of an active account; None for any other secret."""
        rows = await self._database.look_up(HOLDER, hash_secret(secret))
        return principal_of(rows, self._clock())

    async def _keys(self, account_id: int, *shown: sa.ColumnElement[bool]) -> list[Key]:
        keys = tables.keys
        query = sa.select(*KEY).where(keys.c.account_id == account_id, *shown).order_by(keys.c.id)
        return [Key(*row) for row in await self._database.rows(query)]

    async def _check_room(self, connection: AsyncConnection, account_id: int) -> None:
        keys = tables.keys
        live = (keys.c.account_id == account_id, keys.c.revoked_at.is_(None))
        count = sa.select(sa.func.count()).select_from(keys)
        held = await connection.scalar(count.where(*live, not_expired(self._clock())))
        if (held or 0) >= MAX_KEYS:
            raise TooManyError(f"An account holds at most {MAX_KEYS} live keys; revoke one first.")

    async def _insert(
        self,
        connection: AsyncConnection,
        account_id: int,
        actor: Actor,
        name: str,
        expires_at: dt.datetime | None,
        read_only: bool,
    ) -> tuple[Key, str]:
        secret, now = self.prefix + random_text(SECRET_LENGTH), self._clock()
        key = Key(secret[:PREFIX_LENGTH], name, now, None, expires_at, read_only)
        row = {"account_id": account_id, "secret_hash": hash_secret(secret), **asdict(key)}
        await connection.execute(tables.keys.insert().values(row))
        subject = f"{key.prefix} {name}"
        await add_event(connection, EventKind.KEY_CREATED, actor, now, account_id, subject)
        return key, secret

    async def _revoke(
        self, connection: AsyncConnection, prefix: str, actor: Actor
    ) -> sa.Row[*tuple[Any, ...]]:
        keys = tables.keys
        revoked = await revoke(connection, keys, keys.c.prefix == prefix, actor, self._clock())
        if not revoked:
            raise AccountError(
                f"No live key has the prefix {prefix!r}; `screener key list EMAIL` shows them."
            )
        return revoked[0]

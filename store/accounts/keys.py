"""Keys: the API keys of accounts. A key's secret is shown once and stored only as its SHA-256."""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from store.accounts.accounts import (
    Account,
    Plan,
    account_of,
    aware,
    hash_secret,
    lock_account,
    utc_now,
)
from store.accounts.audit import OPERATOR, Actor, Kind, note
from store.accounts.credentials import ALPHABET
from store.accounts.owner import check_owner
from store.accounts.pace import check_pace
from store.database import tables
from store.database.database import Database
from store.database.lookups import VALUE, LookUp
from store.errors import AccountError, TooManyError

PREFIX_LENGTH = 16
SECRET_LENGTH = 48
"""Random characters after the key prefix: eight identify the key, forty (238 bits) prove it."""

KEY_CAP = 50
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


ACCOUNT = [tables.accounts.c[name] for name in ("id", "email", "plan", "active", "created_at")]
KEY = [
    tables.keys.c[name]
    for name in ("prefix", "name", "created_at", "revoked_at", "expires_at", "read_only")
]
"""The columns of a `Key`, in the order of its fields."""

HOLDER = LookUp(
    sa.select(*ACCOUNT, *KEY, sa.null())
    .join(tables.accounts, tables.accounts.c.id == tables.keys.c.account_id)
    .where(tables.keys.c.secret_hash == VALUE)
)
"""Who holds a key, live or not, as `principal_of` reads it."""


def principal_of(rows: Sequence[Sequence[Any]], now: dt.datetime) -> Principal | None:
    """The principal of a credential that was looked up, if that is live: from the columns of its
    account, of the key or grant behind it, and the end that it has besides.
    """
    if not rows:
        return None
    number, email, plan, active, since, *behind, ends = rows[0]
    key = _to_key(*behind)
    end = aware(ends) if ends else key.expires_at
    if not active or not key.is_live(now) or (end is not None and end <= now):
        return None
    return Principal(Account(number, email, Plan(plan), True, aware(since)), key, end)


class Keys:
    """API keys; each method is one transaction."""

    def __init__(
        self,
        database: Database,
        *,
        prefix: str = "ps_live_",
        clock: Callable[[], dt.datetime] = utc_now,
    ) -> None:
        self._database = database
        self.prefix = prefix
        self._clock = clock

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
        name = _check_name(name)
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
                await check_pace(connection, account.id, Kind.KEY_CREATED, per_hour, now)
            new = _NewKey(name, expires_at, read_only)
            return await self._insert_key(connection, account.id, new, actor)

    async def of_account(self, email: str) -> list[Key]:
        """Every key of an account, including revoked ones, oldest first."""
        async with self._database.read() as connection:
            account = await account_of(connection, email)
            return await _keys(connection, account.id)

    async def held(self, account_id: int, besides: Collection[str] = ()) -> list[Key]:
        """The keys of an account that were not revoked, or have one of the prefixes `besides`,
        oldest first. Expired ones are among them.
        """
        keys = tables.keys
        shown = keys.c.revoked_at.is_(None) | keys.c.prefix.in_(besides)
        async with self._database.read() as connection:
            return await _keys(connection, account_id, shown)

    async def sweep(self, days: int) -> int:
        """Delete the keys that ended over some days ago; return how many were deleted."""
        keys, then = tables.keys, self._clock() - dt.timedelta(days=days)
        ended = sa.or_(keys.c.revoked_at < then, keys.c.expires_at < then)
        async with self._database.write(patient=True) as connection:
            return (await connection.execute(keys.delete().where(ended))).rowcount

    async def replace(self, prefix: str, *, actor: Actor = OPERATOR) -> tuple[Key, str]:
        """Revoke a live key and make a new one for the same account, equal but for the secret.

        Raises:
            AccountError: no live key has this prefix.
        """
        async with self._database.write() as connection:
            old = await self._revoke(connection, prefix, actor)
            if old.expires_at and aware(old.expires_at) <= self._clock():
                raise AccountError(f"{prefix} has expired; create another key.")
            expires_at = aware(old.expires_at) if old.expires_at else None
            new = _NewKey(old.name, expires_at, old.read_only)
            return await self._insert_key(connection, old.account_id, new, actor)

    async def revoke(self, prefix: str, *, actor: Actor = OPERATOR) -> None:
        """Revoke a live key.

        Raises:
            AccountError: no live key has this prefix.
        """
        async with self._database.write() as connection:
            await self._revoke(connection, prefix, actor)

    async def revoke_own(self, account_id: int, prefix: str, *, actor: Actor = OPERATOR) -> bool:
        """Revoke a live key of this account; False when the account has no such key."""
        owned = tables.keys.c.account_id == account_id
        async with self._database.write() as connection:
            return await self._revoked(connection, prefix, owned, actor) is not None

    async def principal(self, secret: str) -> Principal | None:
        """The holder of a live key of an active account; None for any other secret."""
        return principal_of(await self._database.rows(HOLDER, hash_secret(secret)), self._clock())

    async def _check_room(self, connection: AsyncConnection, account_id: int) -> None:
        keys = tables.keys
        lasting = sa.or_(keys.c.expires_at.is_(None), keys.c.expires_at > self._clock())
        live = (keys.c.account_id == account_id, keys.c.revoked_at.is_(None), lasting)
        count = sa.select(sa.func.count()).select_from(keys).where(*live)
        if (await connection.scalar(count) or 0) >= KEY_CAP:
            raise TooManyError(f"An account holds at most {KEY_CAP} live keys; revoke one first.")

    async def _insert_key(
        self, connection: AsyncConnection, account_id: int, new: _NewKey, actor: Actor
    ) -> tuple[Key, str]:
        tail = "".join(secrets.choice(ALPHABET) for _ in range(SECRET_LENGTH))
        secret, now = self.prefix + tail, self._clock()
        key = Key(secret[:PREFIX_LENGTH], new.name, now, None, new.expires_at, new.read_only)
        await connection.execute(
            tables.keys.insert().values(
                account_id=account_id,
                prefix=key.prefix,
                secret_hash=hash_secret(secret),
                name=key.name,
                created_at=key.created_at,
                expires_at=key.expires_at,
                read_only=key.read_only,
            )
        )
        subject = f"{key.prefix} {key.name}"
        await note(connection, Kind.KEY_CREATED, actor, now, account_id, subject)
        return key, secret

    async def _revoke(
        self, connection: AsyncConnection, prefix: str, actor: Actor
    ) -> sa.Row[*tuple[Any, ...]]:
        row = await self._revoked(connection, prefix, sa.true(), actor)
        if row is None:
            raise AccountError(
                f"No live key has the prefix {prefix!r}; `screener key list EMAIL` shows them."
            )
        return row

    async def _revoked(
        self,
        connection: AsyncConnection,
        prefix: str,
        condition: sa.ColumnElement[bool],
        actor: Actor,
    ) -> sa.Row[*tuple[Any, ...]] | None:
        keys, now = tables.keys, self._clock()
        revoked = await connection.execute(
            keys.update()
            .where(keys.c.prefix == prefix, keys.c.revoked_at.is_(None), condition)
            .values(revoked_at=now)
            .returning(keys.c.account_id, keys.c.name, keys.c.expires_at, keys.c.read_only)
        )
        row = revoked.one_or_none()
        if row is not None:
            subject = f"{prefix} {row.name}"
            await note(connection, Kind.KEY_REVOKED, actor, now, row.account_id, subject)
        return row


class _NewKey(NamedTuple):
    """What is chosen of a key that is made."""

    name: str
    expires_at: dt.datetime | None
    read_only: bool


def _check_name(name: str) -> str:
    name = name.strip()
    if not name or len(name) > 100 or not name.isprintable():
        raise AccountError("A key's name is 1 to 100 printable characters.")
    return name


async def _keys(
    connection: AsyncConnection, account_id: int, *conditions: sa.ColumnElement[bool]
) -> list[Key]:
    keys = tables.keys
    query = sa.select(*KEY).where(keys.c.account_id == account_id, *conditions).order_by(keys.c.id)
    return [_to_key(*row) for row in await connection.execute(query)]


def _to_key(
    prefix: str,
    name: str,
    created_at: dt.datetime,
    revoked_at: dt.datetime | None,
    expires_at: dt.datetime | None,
    read_only: bool,
) -> Key:
    revoked_at = aware(revoked_at) if revoked_at else None
    expires_at = aware(expires_at) if expires_at else None
    return Key(prefix, name, aware(created_at), revoked_at, expires_at, read_only)

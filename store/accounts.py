"""Accounts and their API keys. A key's secret is shown once and stored only as its SHA-256."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
import secrets
import string
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from store import tables
from store.audit import OPERATOR, Actor, Kind, note
from store.database import Database
from store.errors import AccountError, StalePasswordError

ALPHABET = string.ascii_letters + string.digits
PREFIX_LENGTH = 16
SECRET_LENGTH = 48
"""Random characters after the key prefix: eight identify the key, forty (238 bits) prove it."""

KEY_CAP = 50
"""Live keys an account may have. Rate limits count by key, so the number of keys is limited."""

EMAIL = re.compile(r"^[^@\s]{1,64}@[^@\s]{1,189}$")


class Plan(StrEnum):
    """What an account has paid for."""

    PREMIUM_PLUS = "premium_plus"
    PREMIUM = "premium"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Account:
    """A person who may hold keys."""

    id: int
    email: str
    plan: Plan
    active: bool
    created_at: dt.datetime


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


@dataclass(frozen=True, slots=True)
class Principal:
    """The holder of a live credential: an active account, and the key or grant behind it."""

    account: Account
    key: Key
    expires_at: dt.datetime | None = None
    """When the credential expires; None for a key without an end."""
    digest: bytes = b""
    """The SHA-256 of the credential; the credential itself is not kept."""
    changes: int | None = None
    """The database's count of changes before the look-up; None if it could not be read."""


def hash_secret(secret: str) -> str:
    """The hash stored for a secret. A fast hash is enough for 238 random bits."""
    return hashlib.sha256(secret.encode()).hexdigest()


def utc_now() -> dt.datetime:
    """The current time, aware, in UTC."""
    return dt.datetime.now(dt.UTC)


class Accounts:
    """Accounts and keys; each method is one transaction."""

    def __init__(
        self,
        database: Database,
        *,
        key_prefix: str = "ps_live_",
        clock: Callable[[], dt.datetime] = utc_now,
    ) -> None:
        self._database = database
        self.key_prefix = key_prefix
        self._clock = clock

    async def add(
        self,
        email: str,
        plan: Plan,
        password_hash: str | None = None,
        *,
        actor: Actor = OPERATOR,
    ) -> Account:
        """Make an account.

        Raises:
            AccountError: the address is malformed or taken.
        """
        email = email.strip().lower()
        if not EMAIL.match(email):
            raise AccountError(f"{email!r} is not an e-mail address.")
        row = {
            "email": email,
            "plan": plan,
            "active": True,
            "password_hash": password_hash,
            "created_at": self._clock(),
        }
        try:
            async with self._database.write() as connection:
                await connection.execute(tables.accounts.insert().values(row))
                account = await _account(connection, email)
                at = self._clock()
                await note(connection, Kind.ACCOUNT_ADDED, actor, at, account.id, plan)
                return account
        except IntegrityError as error:
            raise AccountError(f"There is an account {email} already.") from error

    async def all(self) -> list[Account]:
        """Every account, oldest first."""
        async with self._database.read() as connection:
            query = sa.select(tables.accounts).order_by(tables.accounts.c.id)
            return [to_account(row) for row in await connection.execute(query)]

    async def get(self, email: str) -> Account:
        """An account by its address.

        Raises:
            AccountError: there is no such account.
        """
        async with self._database.read() as connection:
            return await _account(connection, email)

    async def set_plan(self, email: str, plan: Plan) -> Account:
        """Change an account's plan, which takes effect on its keys at once."""
        return await self._set(email, Kind.PLAN_CHANGED, plan, plan=plan)

    async def set_active(self, email: str, *, active: bool) -> Account:
        """Deactivate an account, which disables its keys, or reactivate it."""
        kind = Kind.ACCOUNT_REACTIVATED if active else Kind.ACCOUNT_DEACTIVATED
        return await self._set(email, kind, active=active)

    async def password_hash(self, email: str) -> str | None:
        """The password hash of an active account; None if it has none or does not exist."""
        query = sa.select(tables.accounts.c.password_hash).where(
            tables.accounts.c.email == email.strip().lower(), tables.accounts.c.active
        )
        async with self._database.read() as connection:
            encoded: str | None = await connection.scalar(query)
        return encoded

    async def set_password(
        self,
        email: str,
        password_hash: str,
        *,
        replacing: str | None = None,
        actor: Actor = OPERATOR,
    ) -> int:
        """Change a password, end every session of the account and return how many were ended.

        Raises:
            AccountError: there is no such account.
            StalePasswordError: the account's hash is no longer `replacing`.
        """
        accounts, sessions = tables.accounts, tables.sessions
        async with self._database.write() as connection:
            account = await _account(connection, email)
            expected = accounts.c.password_hash == replacing if replacing else sa.true()
            changed = await connection.execute(
                accounts.update()
                .where(accounts.c.id == account.id, expected)
                .values(password_hash=password_hash)
            )
            if changed.rowcount == 0:
                raise StalePasswordError("The password has been changed meanwhile. Sign in again.")
            ended = await connection.execute(
                sessions.delete().where(sessions.c.account_id == account.id)
            )
            await note(connection, Kind.PASSWORD_CHANGED, actor, self._clock(), account.id)
        return ended.rowcount

    async def create_key(
        self,
        email: str,
        name: str,
        *,
        expires_at: dt.datetime | None = None,
        read_only: bool = False,
        actor: Actor = OPERATOR,
    ) -> tuple[Key, str]:
        """Make a key and return it with its secret, which cannot be read again.

        Raises:
            AccountError: no such account, an unusable name, or too many live keys.
        """
        name = _check_name(name)
        async with self._database.write() as connection:
            account = await _account(connection, email)
            await _check_room(connection, account.id)
            new = _NewKey(name, expires_at, read_only)
            return await self._insert_key(connection, account.id, new, actor)

    async def keys(self, email: str) -> list[Key]:
        """Every key of an account, including revoked ones, oldest first."""
        async with self._database.read() as connection:
            account = await _account(connection, email)
            query = (
                sa.select(tables.keys)
                .where(tables.keys.c.account_id == account.id)
                .order_by(tables.keys.c.id)
            )
            return [_to_key(row) for row in await connection.execute(query)]

    async def replace_key(self, prefix: str, *, actor: Actor = OPERATOR) -> tuple[Key, str]:
        """Revoke a live key and make a new one for the same account, equal but for the secret.

        Raises:
            AccountError: no live key has this prefix.
        """
        async with self._database.write() as connection:
            old = await self._revoke(connection, prefix, actor)
            expires_at = aware(old.expires_at) if old.expires_at else None
            new = _NewKey(old.name, expires_at, old.read_only)
            return await self._insert_key(connection, old.account_id, new, actor)

    async def revoke_key(self, prefix: str, *, actor: Actor = OPERATOR) -> None:
        """Revoke a live key.

        Raises:
            AccountError: no live key has this prefix.
        """
        async with self._database.write() as connection:
            await self._revoke(connection, prefix, actor)

    async def revoke_own_key(
        self, account_id: int, prefix: str, *, actor: Actor = OPERATOR
    ) -> bool:
        """Revoke a live key of this account; False when the account has no such key."""
        owned = tables.keys.c.account_id == account_id
        async with self._database.write() as connection:
            return await self._revoked(connection, prefix, owned, actor) is not None

    async def principal(self, secret: str) -> Principal | None:
        """The holder of a live key of an active account; None for any other secret."""
        expires_at = tables.keys.c.expires_at
        query = (
            sa.select(
                tables.keys.c.prefix,
                tables.keys.c.name,
                tables.keys.c.created_at,
                tables.keys.c.revoked_at,
                tables.keys.c.expires_at,
                tables.keys.c.read_only,
                tables.accounts.c.id.label("account_id"),
                tables.accounts.c.email,
                tables.accounts.c.plan,
                tables.accounts.c.created_at.label("account_created_at"),
            )
            .join(tables.accounts, tables.accounts.c.id == tables.keys.c.account_id)
            .where(
                tables.keys.c.secret_hash == hash_secret(secret),
                tables.keys.c.revoked_at.is_(None),
                sa.or_(expires_at.is_(None), expires_at > self._clock()),
                tables.accounts.c.active,
            )
        )
        async with self._database.read() as connection:
            row = (await connection.execute(query)).one_or_none()
        if row is None:
            return None
        account = Account(
            row.account_id, row.email, Plan(row.plan), True, aware(row.account_created_at)
        )
        key = _to_key(row)
        return Principal(account, key, key.expires_at)

    async def _set(self, email: str, kind: Kind, subject: str = "", **values: object) -> Account:
        async with self._database.write() as connection:
            account = await _account(connection, email)
            await connection.execute(
                tables.accounts.update().where(tables.accounts.c.id == account.id).values(values)
            )
            await note(connection, kind, OPERATOR, self._clock(), account.id, subject)
            return await _account(connection, email)

    async def _insert_key(
        self, connection: AsyncConnection, account_id: int, new: _NewKey, actor: Actor
    ) -> tuple[Key, str]:
        tail = "".join(secrets.choice(ALPHABET) for _ in range(SECRET_LENGTH))
        secret, now = self.key_prefix + tail, self._clock()
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


async def _check_room(connection: AsyncConnection, account_id: int) -> None:
    live = (tables.keys.c.account_id == account_id) & tables.keys.c.revoked_at.is_(None)
    count = sa.select(sa.func.count()).select_from(tables.keys).where(live)
    if (await connection.scalar(count) or 0) >= KEY_CAP:
        raise AccountError(f"An account holds at most {KEY_CAP} live keys; revoke one first.")


async def _account(connection: AsyncConnection, email: str) -> Account:
    query = sa.select(tables.accounts).where(tables.accounts.c.email == email.strip().lower())
    row = (await connection.execute(query)).one_or_none()
    if row is None:
        raise AccountError(f"There is no account {email}; `screener account list` shows them.")
    return to_account(row)


def to_account(row: sa.Row[*tuple[Any, ...]]) -> Account:
    """An account from its row."""
    return Account(row.id, row.email, Plan(row.plan), row.active, aware(row.created_at))


def _to_key(row: sa.Row[*tuple[Any, ...]]) -> Key:
    revoked_at = aware(row.revoked_at) if row.revoked_at else None
    expires_at = aware(row.expires_at) if row.expires_at else None
    return Key(row.prefix, row.name, aware(row.created_at), revoked_at, expires_at, row.read_only)


def aware(time: dt.datetime) -> dt.datetime:
    """A stored time as an aware UTC time. SQLite keeps no time zone; every stored time is UTC."""
    return time if time.tzinfo else time.replace(tzinfo=dt.UTC)

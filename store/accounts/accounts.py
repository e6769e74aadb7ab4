"""Accounts: who may call, by what plan, and the password that signs them in."""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal, NamedTuple

import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from store.accounts.audit import OPERATOR, Actor, EventKind, add_event
from store.accounts.credentials import end_feeds, not_expired, revoke
from store.database import tables
from store.database.database import Database
from store.database.tables import columns_of
from store.errors import AccountError, StalePasswordError

EMAIL = re.compile(r"[!-?A-~]{1,64}@[!-?A-~]{1,189}")
"""E-mail address of a new account: printable ASCII, in which nothing is hidden or looks alike."""


MAX_NAME: Final = 100
"""Characters of the name of a key or a saved screen."""

FIRST_EMAIL: Final = "me@localhost"
"""The account that `screener up` makes."""

Clock = Callable[[], dt.datetime]
"""Gives the time, aware, in UTC."""


class AccountPlan(StrEnum):
    """What an account has paid for."""

    PREMIUM_PLUS = "premium_plus"
    PREMIUM = "premium"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Account:
    """A person who may hold keys."""

    id: int
    email: str
    plan: AccountPlan
    active: bool
    created_at: dt.datetime


ACCOUNT: Final = columns_of(tables.accounts, Account)
"""The columns of an account, with which a row begins that has one."""


def to_account(row: Sequence[Any]) -> Account:
    """The account with which a row begins."""
    fields = dict(zip((column.name for column in ACCOUNT), row, strict=False))
    return Account(**{**fields, "plan": AccountPlan(fields["plan"])})


class Ended(NamedTuple):
    """How many of each were ended."""

    sessions: int
    keys: int = 0
    apps: int = 0


def hash_secret(secret: str) -> str:
    """The hash stored for a secret. A fast hash is enough for 238 random bits."""
    return hashlib.sha256(secret.encode()).hexdigest()


def utc_now() -> dt.datetime:
    """The current time, aware, in UTC."""
    return dt.datetime.now(dt.UTC)


class AccountRows:
    """Rows of the account database; each method of a subclass is one transaction."""

    def __init__(self, database: Database, *, clock: Clock = utc_now) -> None:
        self._database = database
        self._clock = clock


class Accounts(AccountRows):
    """The accounts themselves."""

    async def add(
        self,
        email: str,
        plan: AccountPlan,
        password_hash: str | None = None,
        *,
        actor: Actor = OPERATOR,
    ) -> Account:
        """Make an account.

        Raises:
            AccountError: the address is malformed or taken.
        """
        if not EMAIL.fullmatch(email.strip()):
            raise AccountError(f"{email!a} is not an e-mail address of plain ASCII characters.")
        email = email.strip().lower()
        row = {
            "email": email,
            "plan": plan,
            "active": True,
            "password_hash": password_hash,
            "created_at": self._clock(),
        }
        try:
            async with self._database.write() as connection:
                unused = await _unused_id(connection)
                await connection.execute(tables.accounts.insert().values({**row, **unused}))
                account = await account_of(connection, email)
                at = self._clock()
                await add_event(connection, EventKind.ACCOUNT_ADDED, actor, at, account.id, plan)
                return account
        except IntegrityError as error:
            raise AccountError(f"There is already an account {email}.") from error

    async def all(self) -> list[Account]:
        """Every account, oldest first."""
        query = sa.select(*ACCOUNT).order_by(tables.accounts.c.id)
        return [to_account(row) for row in await self._database.rows(query)]

    async def lacking(self) -> Literal["account", "password"] | None:
        """What is missing so that nobody can sign in; None if somebody can."""
        accounts = tables.accounts
        some = sa.exists().select_from(accounts)
        query = sa.select(some, some.where(accounts.c.password_hash.is_not(None)))
        ((account, password),) = await self._database.rows(query)
        return None if password else "password" if account else "account"

    async def get(self, email: str) -> Account:
        """An account by its address.

        Raises:
            AccountError: there is no such account.
        """
        async with self._database.read() as connection:
            return await account_of(connection, email)

    async def set_plan(self, email: str, plan: AccountPlan) -> Account:
        """Change an account's plan, which takes effect on its keys at once."""
        return await self._set(email, EventKind.PLAN_CHANGED, plan, plan=plan)

    async def set_active(self, email: str, *, active: bool) -> Account:
        """Deactivate an account, which disables its keys and ends its sessions, or reactivate it,
        which brings the keys back.
        """
        kind = EventKind.ACCOUNT_REACTIVATED if active else EventKind.ACCOUNT_DEACTIVATED
        return await self._set(email, kind, active=active)

    async def password_hash(self, email: str) -> str | None:
        """The password hash of an active account; None if it has none or does not exist."""
        query = sa.select(tables.accounts.c.password_hash).where(
            tables.accounts.c.email == email.strip().lower(), tables.accounts.c.active
        )
        return await self._database.scalar(query)

    async def set_password(
        self,
        email: str,
        password_hash: str,
        *,
        replacing: str | None = None,
        end_access: bool = False,
        actor: Actor = OPERATOR,
    ) -> Ended:
        """Change a password and end every session of the account, with `end_access` every key and
        app too; return how many were ended.

        Raises:
            AccountError: there is no such account.
            StalePasswordError: the account's hash is no longer `replacing`.
        """
        accounts, now = tables.accounts, self._clock()
        async with self._database.write() as connection:
            account = await account_of(connection, email)
            await lock_account(connection, account.id)
            expected = accounts.c.password_hash == replacing if replacing else sa.true()
            changed = await connection.execute(
                accounts.update()
                .where(accounts.c.id == account.id, expected)
                .values(password_hash=password_hash)
            )
            if changed.rowcount == 0:
                raise StalePasswordError("The password has changed in the meantime. Sign in again.")
            await add_event(connection, EventKind.PASSWORD_CHANGED, actor, now, account.id)
            await _delete(connection, tables.browsers, account.id)
            sessions = await _delete(connection, tables.sessions, account.id)
            if not end_access:
                return Ended(sessions)
            return Ended(sessions, *await _revoke_all(connection, account.id, actor, now))

    async def end_sessions(self, email: str, *, actor: Actor = OPERATOR) -> int:
        """End every session of an account; return how many were ended. Its known browsers stay
        known, so that wrong guesses of others do not keep it from signing in again.

        Raises:
            AccountError: there is no such account.
        """
        async with self._database.write() as connection:
            account = await account_of(connection, email)
            return await self._end_sessions(connection, account.id, actor)

    async def end_access(
        self,
        account_id: int,
        *,
        but: str | None = None,
        browser: str | None = None,
        actor: Actor = OPERATOR,
    ) -> Ended:
        """End every key and app of an account, and every session but that of the token `but`.

        The known browser with the token `browser` stays known.

        Raises:
            AccountError: the account has been deleted meanwhile.
        """
        now, kept = self._clock(), [hash_secret(token) for token in (but, browser) if token]
        async with self._database.write() as connection:
            await lock_account(connection, account_id)
            await _delete(connection, tables.browsers, account_id, kept)
            sessions = await self._end_sessions(connection, account_id, actor, kept)
            return Ended(sessions, *await _revoke_all(connection, account_id, actor, now))

    async def delete(self, email: str, *, actor: Actor = OPERATOR) -> dict[str, int]:
        """Delete an account with everything about it; return how many rows of each table.

        The log keeps that an account was deleted, and its number, which no other account gets as
        long as the log, or anything else, refers to it.

        Raises:
            AccountError: there is no such account.
        """
        async with self._database.write() as connection:
            account = await account_of(connection, email)
            await lock_account(connection, account.id, deleting=True)
            deleted = await delete_rows(connection, account.id)
            await add_event(connection, EventKind.ACCOUNT_DELETED, actor, self._clock(), account.id)
        await self._database.forget()
        return deleted

    async def _end_sessions(
        self, connection: AsyncConnection, account_id: int, actor: Actor, but: Collection[str] = ()
    ) -> int:
        sessions = await _delete(connection, tables.sessions, account_id, but)
        if sessions:
            at, subject = self._clock(), f"{sessions} sessions"
            await add_event(connection, EventKind.SESSION_ENDED, actor, at, account_id, subject)
        return sessions

    async def _set(
        self, email: str, kind: EventKind, subject: str = "", **values: object
    ) -> Account:
        async with self._database.write() as connection:
            account = await account_of(connection, email)
            await connection.execute(
                tables.accounts.update().where(tables.accounts.c.id == account.id).values(values)
            )
            await add_event(connection, kind, OPERATOR, self._clock(), account.id, subject)
            if kind is EventKind.ACCOUNT_DEACTIVATED:
                await _delete(connection, tables.browsers, account.id)
                await self._end_sessions(connection, account.id, OPERATOR)
            return await account_of(connection, email)


async def account_of(connection: AsyncConnection, email: str) -> Account:
    """An account by its address, in a transaction.

    Raises:
        AccountError: there is no such account.
    """
    query = sa.select(*ACCOUNT).where(tables.accounts.c.email == email.strip().lower())
    row = (await connection.execute(query)).one_or_none()
    if row is None:
        raise AccountError(f"There is no account {email}; `screener account list` shows them.")
    return to_account(row)


def check_name(name: str, whose: str) -> str:
    """A name that a person gives a thing, without the space around it.

    Raises:
        AccountError: it is empty, too long, or has characters that do not print.
    """
    name = name.strip()
    if not name or len(name) > MAX_NAME or not name.isprintable():
        raise AccountError(f"{whose} name is 1 to {MAX_NAME} printable characters.")
    return name


async def lock_account(
    connection: AsyncConnection, account_id: int, *, deleting: bool = False
) -> None:
    """Make simultaneous transactions that count what an account has go one after another.

    On PostgreSQL this is a row lock; a write transaction of SQLite is exclusive anyway. To delete
    the account it also waits for, and then keeps out, whoever adds a row that refers to it.

    Raises:
        AccountError: the account has been deleted meanwhile.
    """
    accounts = tables.accounts
    query = sa.select(accounts.c.id).where(accounts.c.id == account_id)
    if await connection.scalar(query.with_for_update(key_share=not deleting)) is None:
        raise AccountError("This account has been deleted.")


async def _delete(
    connection: AsyncConnection, table: sa.Table, account_id: int, but: Collection[str] = ()
) -> int:
    """Delete the sessions or known browsers of an account, except for that with a token hash of
    `but`. Ending all access ends both: one of the browsers may be the intruder's.
    """
    deleted = await connection.execute(
        table.delete().where(table.c.account_id == account_id, table.c.token_hash.not_in(but))
    )
    return deleted.rowcount


async def _revoke_all(
    connection: AsyncConnection, account_id: int, actor: Actor, now: dt.datetime
) -> tuple[int, int]:
    """Revoke every live key, app and feed of an account; returns how many keys and apps."""
    keys, grants = tables.keys, tables.grants
    live_keys = (keys.c.account_id == account_id) & not_expired(now)
    ended = await revoke(connection, keys, live_keys, actor, now)
    apps = await revoke(connection, grants, grants.c.account_id == account_id, actor, now)
    await end_feeds(connection, tables.screens.c.account_id == account_id, actor, now)
    return len(ended), len(apps)


async def delete_rows(connection: AsyncConnection, account_id: int) -> dict[str, int]:
    """Delete a locked account and every row about it; returns how many rows of each table."""
    grants, deleted = tables.grants, {}
    own_grants = sa.select(grants.c.id).where(grants.c.account_id == account_id)
    # On PostgreSQL this waits for who is adding tokens, as the lock on the account does.
    await connection.execute(own_grants.with_for_update())
    for column in (
        tables.codes.c.grant_id,
        tables.tokens.c.grant_id,
        *(each.c.account_id for each in (grants, tables.keys, tables.sessions, tables.browsers)),
        *(each.c.account_id for each in (tables.watchlist, tables.screens)),
        *(each.c.account_id for each in (tables.usage, tables.audit)),
    ):
        owned = column.in_(own_grants) if column.name == "grant_id" else column == account_id
        removed = await connection.execute(column.table.delete().where(owned))
        deleted[column.table.name] = removed.rowcount
    await connection.execute(tables.accounts.delete().where(tables.accounts.c.id == account_id))
    return deleted


async def _unused_id(connection: AsyncConnection) -> dict[str, int]:
    # SQLite would give the id of the last account again once that is deleted. Here it does not
    # before the log has forgotten the deletion, a day later at the earliest: what a running service
    # still counts for the deleted account is gone by then. PostgreSQL never gives an id again.
    if connection.dialect.name != "sqlite":
        return {}
    newest = [
        sa.select(sa.func.max(column)).scalar_subquery()
        for column in (tables.accounts.c.id, tables.audit.c.account_id)
    ]
    known = (await connection.execute(sa.select(*newest))).one()
    return {"id": 1 + max(number or 0 for number in known)}

"""Sign-in sessions: the browser holds a random token, the database only its SHA-256.

A session ends when it has not been used for a while, and in any case some days after it began.
"""

from __future__ import annotations

import datetime as dt
import secrets
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from store.accounts.accounts import (
    ACCOUNT,
    Account,
    AccountRows,
    Clock,
    hash_secret,
    lock_account,
    to_account,
    utc_now,
)
from store.accounts.audit import MAX_TEXT, OPERATOR, Actor, EventKind, add_event
from store.accounts.surplus import keep_newest
from store.database import tables
from store.database.database import Database
from store.errors import SignedOutError, StalePasswordError

TOKEN_BYTES = 32

PER_ACCOUNT = 50
"""Sessions of an account."""

BROWSER_LIFETIME = dt.timedelta(days=365)
"""How long a browser stays known without a sign-in."""

BROWSERS_PER_ACCOUNT = 20
"""Known browsers of an account; one more takes the place of the one unseen for longest."""

SEEN_EVERY = dt.timedelta(minutes=10)
"""How old the stored time of last use may get, so that reading a page seldom costs a write."""

PROOF = dt.timedelta(minutes=15)
"""How long a password that was given counts as proof of who is there."""

HANDLE_LENGTH = 16

handles = sa.func.substr(tables.sessions.c.token_hash, 1, HANDLE_LENGTH)
"""The handle of each session."""

SHOWN = [tables.sessions.c[name] for name in ("created_at", "seen_at", "agent", "network")]


def handle_of(token: str) -> str:
    """The handle of the session with this token."""
    return hash_secret(token)[:HANDLE_LENGTH]


@dataclass(frozen=True, slots=True)
class Session:
    """One signed-in browser, without its token."""

    handle: str
    """The first HANDLE_LENGTH characters of the token's hash, by which its owner names it."""
    email: str
    created_at: dt.datetime
    seen_at: dt.datetime
    agent: str = ""
    """The User-Agent of the browser that signed in."""
    network: str = ""
    """The network address from which it signed in."""


class Sessions(AccountRows):
    """Sessions by token."""

    def __init__(
        self,
        database: Database,
        *,
        idle: dt.timedelta,
        lifetime: dt.timedelta,
        clock: Clock = utc_now,
    ) -> None:
        super().__init__(database, clock=clock)
        self._idle = idle
        self.lifetime = lifetime

    async def start(
        self,
        account_id: int,
        password_hash: str,
        *,
        replacing: str | None = None,
        actor: Actor = OPERATOR,
    ) -> str:
        """Start a session after the password behind this hash was verified; return its token.

        The session with the token `replacing`, of this account or another, ends.
        An account has at most PER_ACCOUNT: the one unused for longest gives way.

        Raises:
            StalePasswordError: the account has another password by now, or is deactivated. A
                sign-in in progress must not outlive such a change.
        """
        token, now = _new_token(), self._clock()
        async with self._database.write() as connection:
            if not await _still_holds(connection, account_id, password_hash):
                raise StalePasswordError("The account has changed in the meantime. Sign in again.")
            if replacing is not None:
                await self._end(connection, _is_of(replacing), EventKind.SIGN_OUT, actor)
            own = tables.sessions.c.account_id == account_id
            await keep_newest(connection, own, tables.sessions.c.seen_at, PER_ACCOUNT - 1)
            await connection.execute(
                tables.sessions.insert().values(
                    token_hash=hash_secret(token),
                    account_id=account_id,
                    created_at=now,
                    seen_at=now,
                    agent=actor.agent[:MAX_TEXT],
                    network=actor.network,
                    proven_at=now,
                )
            )
            await add_event(connection, EventKind.SIGN_IN, actor, now, account_id)
        return token

    async def note_failure(self, email: str, actor: Actor, subject: str = "") -> None:
        """Record a sign-in that failed, with the account if there is one: one write in either case.

        What was typed as an address is not kept, since people type passwords there.
        """
        accounts = tables.accounts
        query = sa.select(accounts.c.id).where(accounts.c.email == email.strip().lower())
        # PostgreSQL: a deletion waits for the lock, and then deletes this event too.
        query = query.with_for_update(read=True, key_share=True)
        async with self._database.write() as connection:
            account_id = await connection.scalar(query)
            await add_event(
                connection, EventKind.SIGN_IN_FAILED, actor, self._clock(), account_id, subject
            )

    async def account(self, token: str) -> Account | None:
        """The account of a live session; None for any other token or an inactive account."""
        now, sessions = self._clock(), tables.sessions
        query = (
            sa.select(*ACCOUNT, (sessions.c.seen_at <= now - SEEN_EVERY).label("stale"))
            .join(sessions, sessions.c.account_id == tables.accounts.c.id)
            .where(
                _is_of(token),
                live(now, self._idle, self.lifetime),
                tables.accounts.c.active,
            )
        )
        rows = await self._database.rows(query)
        if not rows:
            return None
        if rows[0].stale:
            await self._set(token, now, seen_at=now)
        return to_account(rows[0])

    async def end(self, token: str, *, actor: Actor = OPERATOR) -> None:
        """End the session with this token, if there is one."""
        async with self._database.write() as connection:
            await self._end(connection, _is_of(token), EventKind.SIGN_OUT, actor)

    async def is_proven(self, token: str) -> bool:
        """Whether the password was given in this session within the time that PROOF says."""
        query = sa.select(tables.sessions.c.account_id).where(proven(token, self._clock()))
        return await self._database.scalar(query) is not None

    async def prove(self, token: str) -> bool:
        """Record that the password was given in this session; False if it has ended."""
        now = self._clock()
        return await self._set(token, now, proven_at=now)

    async def all(self) -> list[Session]:
        """Every live session, newest first."""
        return await self._sessions(sa.true())

    async def of_account(self, account_id: int) -> list[Session]:
        """The live sessions of an account, newest first."""
        return await self._sessions(tables.sessions.c.account_id == account_id)

    async def end_own(self, account_id: int, handle: str, *, actor: Actor = OPERATOR) -> bool:
        """End a session of this account by its handle; False if the account has no such session."""
        sessions = tables.sessions
        own = (sessions.c.account_id == account_id) & (handles == handle)
        async with self._database.write() as connection:
            return await self._end(connection, own, EventKind.SESSION_ENDED, actor, handle)

    async def _sessions(self, condition: sa.ColumnElement[bool]) -> list[Session]:
        sessions = tables.sessions
        query = (
            sa.select(handles, tables.accounts.c.email, *SHOWN)
            .join(sessions, sessions.c.account_id == tables.accounts.c.id)
            .where(live(self._clock(), self._idle, self.lifetime), condition)
            .order_by(sessions.c.seen_at.desc(), sessions.c.token_hash)
        )
        return [Session(*row) for row in await self._database.rows(query)]

    async def _end(
        self,
        connection: AsyncConnection,
        session: sa.ColumnElement[bool],
        kind: EventKind,
        actor: Actor,
        subject: str = "",
    ) -> bool:
        """End a session with an event of this kind; False if there is none."""
        sessions = tables.sessions
        delete = sessions.delete().where(session).returning(sessions.c.account_id)
        account_id = await connection.scalar(delete)
        if account_id is not None:
            await add_event(connection, kind, actor, self._clock(), account_id, subject)
        return account_id is not None

    async def _set(self, token: str, now: dt.datetime, **times: dt.datetime) -> bool:
        """Set times of the live session with this token; False if there is none."""
        is_live = live(now, self._idle, self.lifetime)
        update = tables.sessions.update().where(_is_of(token), is_live)
        async with self._database.write() as connection:
            return (await connection.execute(update.values(times))).rowcount > 0


class Browsers(AccountRows):
    """Known browsers: those in which an account has signed in before.

    Each holds a random token, and the database only its SHA-256 (OWASP, "Slow Down Online Guessing
    Attacks with Device Cookies"). The token is no credential: the password is still asked for. It
    only keeps the guesses of strangers apart from those of the account's owner.
    """

    async def knows(self, token: str, email: str) -> bool:
        """Whether the account with this address has signed in with this browser."""
        browsers, accounts = tables.browsers, tables.accounts
        query = (
            sa.select(browsers.c.token_hash)
            .join(accounts, accounts.c.id == browsers.c.account_id)
            .where(
                browsers.c.token_hash == hash_secret(token),
                browsers.c.seen_at > self._clock() - BROWSER_LIFETIME,
                accounts.c.email == email.strip().lower(),
            )
        )
        return await self._database.scalar(query) is not None

    async def remember(self, token: str | None, account_id: int) -> str:
        """Remember a browser in which the account has just signed in.

        Returns its token: the one it has, if that is this account's, or else a new one.

        Raises:
            AccountError: the account has been deleted meanwhile.
        """
        browsers, now = tables.browsers, self._clock()
        async with self._database.write() as connection:
            await lock_account(connection, account_id)
            own = browsers.c.account_id == account_id
            if token is not None:
                seen = await connection.execute(
                    browsers.update()
                    .where(own, browsers.c.token_hash == hash_secret(token))
                    .values(seen_at=now)
                )
                if seen.rowcount:
                    return token
            token = _new_token()
            row = {"token_hash": hash_secret(token), "account_id": account_id, "seen_at": now}
            await keep_newest(connection, own, browsers.c.seen_at, BROWSERS_PER_ACCOUNT - 1)
            await connection.execute(browsers.insert().values(row))
        return token


def _is_of(token: str) -> sa.ColumnElement[bool]:
    return tables.sessions.c.token_hash == hash_secret(token)


def _new_token() -> str:
    return secrets.token_urlsafe(TOKEN_BYTES)


async def check_owner(
    connection: AsyncConnection, account_id: int, token: str, now: dt.datetime
) -> None:
    """Refuse what a session does that has ended, or in which no password was given for long.

    Lock the account first: whoever ends all access holds the same lock, so that a session makes
    nothing that outlives its end.

    Raises:
        SignedOutError: the account has no such session, or not with a password in time.
    """
    sessions = tables.sessions
    own = sa.select(sessions.c.account_id).where(sessions.c.account_id == account_id)
    if await connection.scalar(own.where(proven(token, now))) is None:
        raise SignedOutError


def proven(token: str, now: dt.datetime) -> sa.ColumnElement[bool]:
    """The session with this token, if the password was given in it within the time of PROOF."""
    sessions = tables.sessions
    given = (sessions.c.proven_at > now - PROOF) & (sessions.c.proven_at <= now)
    return _is_of(token) & given


def live(now: dt.datetime, idle: dt.timedelta, lifetime: dt.timedelta) -> sa.ColumnElement[bool]:
    """Which sessions have been used lately, and did not begin too long ago."""
    sessions = tables.sessions
    return (sessions.c.seen_at > now - idle) & (sessions.c.created_at > now - lifetime)


async def _still_holds(connection: AsyncConnection, account_id: int, password_hash: str) -> bool:
    # PostgreSQL: the row lock makes a password change, which ends all sessions, happen entirely
    # before or entirely after this sign-in. SQLite allows one writer at a time anyway.
    accounts = tables.accounts
    query = sa.select(accounts.c.id).where(
        accounts.c.id == account_id, accounts.c.active, accounts.c.password_hash == password_hash
    )
    return await connection.scalar(query.with_for_update(read=True)) is not None

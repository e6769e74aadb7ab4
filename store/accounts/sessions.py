"""Sign-in sessions: the browser holds a random token, the database only its SHA-256.

A session ends when it has not been used for a while, and in any case some days after it began.
"""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from store.accounts.accounts import Account, aware, hash_secret, to_account, utc_now
from store.accounts.audit import MAX_TEXT, OPERATOR, Actor, Kind, note
from store.database import tables
from store.database.database import Database
from store.errors import StalePasswordError

TOKEN_BYTES = 32

PER_ACCOUNT = 50
"""Sessions of an account."""

SEEN_EVERY = dt.timedelta(minutes=10)
"""How old the stored time of last use may get, so that reading a page seldom costs a write."""

PROOF = dt.timedelta(minutes=15)
"""How long a password that was given counts as proof of who is there."""

HANDLE_LENGTH = 16


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


class Sessions:
    """Sessions by token; each method is one transaction."""

    def __init__(
        self,
        database: Database,
        *,
        idle: dt.timedelta,
        lifetime: dt.timedelta,
        clock: Callable[[], dt.datetime] = utc_now,
        token_factory: Callable[[], str] = lambda: secrets.token_urlsafe(TOKEN_BYTES),
    ) -> None:
        self._database = database
        self._idle = idle
        self.lifetime = lifetime
        self._clock = clock
        self._token_factory = token_factory

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
        token, now = self._token_factory(), self._clock()
        async with self._database.write() as connection:
            if not await _still_holds(connection, account_id, password_hash):
                raise StalePasswordError("The account has changed in the meantime. Sign in again.")
            if replacing is not None:
                await self._end(connection, replacing, actor)
            await _make_room(connection, account_id)
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
            await note(connection, Kind.SIGN_IN, actor, now, account_id)
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
            await note(connection, Kind.SIGN_IN_FAILED, actor, self._clock(), account_id, subject)

    async def account(self, token: str) -> Account | None:
        """The account of a live session; None for any other token or an inactive account."""
        now, sessions = self._clock(), tables.sessions
        query = (
            sa.select(tables.accounts, (sessions.c.seen_at <= now - SEEN_EVERY).label("stale"))
            .join(sessions, sessions.c.account_id == tables.accounts.c.id)
            .where(
                sessions.c.token_hash == hash_secret(token),
                self._live(now),
                tables.accounts.c.active,
            )
        )
        async with self._database.read() as connection:
            row = (await connection.execute(query)).one_or_none()
        if row is None:
            return None
        if row.stale:
            await self._touch(token, now)
        return to_account(row)

    async def end(self, token: str, *, actor: Actor = OPERATOR) -> None:
        """End the session with this token, if there is one."""
        async with self._database.write() as connection:
            await self._end(connection, token, actor)

    async def is_proven(self, token: str) -> bool:
        """Whether the password was given in this session within the time that PROOF says."""
        sessions, now = tables.sessions, self._clock()
        query = sa.select(sessions.c.account_id).where(
            sessions.c.token_hash == hash_secret(token),
            sessions.c.proven_at > now - PROOF,
            sessions.c.proven_at <= now,
        )
        async with self._database.read() as connection:
            return await connection.scalar(query) is not None

    async def prove(self, token: str) -> bool:
        """Record that the password was given in this session; False if it has ended."""
        sessions, now = tables.sessions, self._clock()
        async with self._database.write() as connection:
            proven = await connection.execute(
                sessions.update()
                .where(sessions.c.token_hash == hash_secret(token), self._live(now))
                .values(proven_at=now)
            )
        return proven.rowcount > 0

    async def all(self) -> list[Session]:
        """Every live session, newest first."""
        return await self._sessions(sa.true())

    async def of_account(self, account_id: int) -> list[Session]:
        """The live sessions of an account, newest first."""
        return await self._sessions(tables.sessions.c.account_id == account_id)

    async def end_own(self, account_id: int, handle: str, *, actor: Actor = OPERATOR) -> bool:
        """End a session of this account by its handle; False if the account has no such session."""
        sessions = tables.sessions
        async with self._database.write() as connection:
            ended = await connection.execute(
                sessions.delete()
                .where(sessions.c.account_id == account_id)
                .where(sa.func.substr(sessions.c.token_hash, 1, HANDLE_LENGTH) == handle)
            )
            if ended.rowcount:
                now = self._clock()
                await note(connection, Kind.SESSION_ENDED, actor, now, account_id, handle)
        return ended.rowcount > 0

    async def end_all(self, account_id: int, *, actor: Actor = OPERATOR) -> int:
        """End every session of an account; return how many were ended."""
        sessions = tables.sessions
        async with self._database.write() as connection:
            ended = await connection.execute(
                sessions.delete().where(sessions.c.account_id == account_id)
            )
            if ended.rowcount:
                at, subject = self._clock(), f"{ended.rowcount} sessions"
                await note(connection, Kind.SESSION_ENDED, actor, at, account_id, subject)
        return ended.rowcount

    async def sweep(self) -> int:
        """Delete the expired sessions; return how many were deleted."""
        async with self._database.write(patient=True) as connection:
            deleted = await connection.execute(
                tables.sessions.delete().where(~self._live(self._clock()))
            )
        return deleted.rowcount

    async def _sessions(self, condition: sa.ColumnElement[bool]) -> list[Session]:
        sessions = tables.sessions
        query = (
            sa.select(tables.accounts.c.email, sessions)
            .join(sessions, sessions.c.account_id == tables.accounts.c.id)
            .where(self._live(self._clock()), condition)
            .order_by(sessions.c.seen_at.desc(), sessions.c.token_hash)
        )
        async with self._database.read() as connection:
            return [_to_session(row) for row in await connection.execute(query)]

    def _live(self, now: dt.datetime) -> sa.ColumnElement[bool]:
        sessions = tables.sessions
        return (sessions.c.seen_at > now - self._idle) & (
            sessions.c.created_at > now - self.lifetime
        )

    async def _end(self, connection: AsyncConnection, token: str, actor: Actor) -> None:
        sessions = tables.sessions
        ended = await connection.execute(
            sessions.delete()
            .where(sessions.c.token_hash == hash_secret(token))
            .returning(sessions.c.account_id)
        )
        for account_id in ended.scalars():
            await note(connection, Kind.SIGN_OUT, actor, self._clock(), account_id)

    async def _touch(self, token: str, now: dt.datetime) -> None:
        async with self._database.write() as connection:
            await connection.execute(
                tables.sessions.update()
                .where(tables.sessions.c.token_hash == hash_secret(token))
                .values(seen_at=now)
            )


def _to_session(row: sa.Row[*tuple[Any, ...]]) -> Session:
    return Session(
        row.token_hash[:HANDLE_LENGTH],
        row.email,
        aware(row.created_at),
        aware(row.seen_at),
        row.agent,
        row.network,
    )


async def _make_room(connection: AsyncConnection, account_id: int) -> None:
    sessions = tables.sessions
    surplus = (
        sa.select(sessions.c.token_hash)
        .where(sessions.c.account_id == account_id)
        .order_by(sessions.c.seen_at.desc(), sessions.c.created_at.desc())
        .offset(PER_ACCOUNT - 1)
    )
    await connection.execute(sessions.delete().where(sessions.c.token_hash.in_(surplus)))


async def _still_holds(connection: AsyncConnection, account_id: int, password_hash: str) -> bool:
    # PostgreSQL: the row lock makes a password change, which ends all sessions, happen entirely
    # before or entirely after this sign-in. SQLite allows one writer at a time anyway.
    accounts = tables.accounts
    query = sa.select(accounts.c.id).where(
        accounts.c.id == account_id, accounts.c.active, accounts.c.password_hash == password_hash
    )
    return await connection.scalar(query.with_for_update(read=True)) is not None

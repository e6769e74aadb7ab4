"""The audit log: who did what to which account, and when.

An event is written in the transaction of what it records, so the log holds each change that was
acknowledged, and none that was not. It holds no secret. The database refuses to change a row; the
retention removes the old ones.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncConnection

from store.database import tables
from store.database.database import Database
from store.errors import TooOftenError

HOUR = dt.timedelta(hours=1)

MAX_TEXT = 200
"""Most characters of a text that is kept of an event."""

MAX_AT_ONCE = 10_000
"""Events that one look-up returns at most."""


class EventKind(StrEnum):
    """What happened."""

    SIGN_IN = "sign_in"
    SIGN_IN_FAILED = "sign_in_failed"
    SIGN_OUT = "sign_out"
    SESSION_ENDED = "session_ended"
    PASSWORD_CHANGED = "password_changed"  # noqa: S105 - an event
    KEY_CREATED = "key_created"
    KEY_REVOKED = "key_revoked"
    APP_APPROVED = "app_approved"
    TOKENS_ISSUED = "tokens_issued"
    APP_REVOKED = "app_revoked"
    TOKEN_REUSED = "token_reused"  # noqa: S105 - an event
    FEED_CREATED = "feed_created"
    FEED_ENDED = "feed_ended"
    ACCOUNT_ADDED = "account_added"
    ACCOUNT_DEACTIVATED = "account_deactivated"
    ACCOUNT_REACTIVATED = "account_reactivated"
    ACCOUNT_DELETED = "account_deleted"
    PLAN_CHANGED = "plan_changed"
    CLIENT_DELETED = "client_deleted"
    RESTORED = "restored"


class Actor(NamedTuple):
    """The actor of an event, and the network."""

    name: Literal["owner", "operator", "app", "stranger"]
    network: str = ""
    """The address that limits count by; empty at the command line."""
    agent: str = ""
    """The client's own name: a User-Agent."""


OPERATOR = Actor("operator")
"""Whoever may run `screener` on the machine itself."""


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One line of the log."""

    id: int
    at: dt.datetime
    kind: EventKind
    account_id: int | None
    """The account that it concerns, which may have been deleted."""
    email: str | None
    """The account's address; None if there is no such account, or no more."""
    actor: str
    network: str
    agent: str
    subject: str


async def add_event(
    connection: AsyncConnection,
    kind: EventKind,
    actor: Actor,
    at: dt.datetime,
    account_id: int | None = None,
    subject: str = "",
) -> None:
    """Add an event to the log, in the transaction of what it records.

    The subject names what was changed: a key's or an app's prefix and name, a plan.
    """
    await connection.execute(
        tables.audit.insert().values(
            at=at,
            kind=kind,
            account_id=account_id,
            actor=actor.name,
            network=actor.network,
            agent=actor.agent[:MAX_TEXT],
            subject=subject[:MAX_TEXT],
        )
    )


async def check_pace(
    connection: AsyncConnection, account_id: int, kind: EventKind, per_hour: int, now: dt.datetime
) -> None:
    """Refuse what an owner did `per_hour` times within the last hour, by the log. That is written
    in the transaction of what it records, so the count holds over restarts and over all processes.
    What the operator does is not counted.

    Lock the account first, and take the time then, so that simultaneous transactions count one
    after another. What a clock that was wrong dated to the future does not count.

    Raises:
        TooOftenError: with the wait until the oldest of these events is an hour old.
    """
    audit = tables.audit
    query = (
        sa.select(audit.c.at)
        .where(audit.c.account_id == account_id, audit.c.kind == kind, audit.c.actor == "owner")
        .where(audit.c.at > now - HOUR, audit.c.at <= now)
        .order_by(audit.c.at.desc())
        .limit(per_hour)
    )
    times = list(await connection.scalars(query))
    if len(times) >= per_hour:
        raise TooOftenError(math.ceil((times[-1] + HOUR - now).total_seconds()))


class AuditLog:
    """Reads the log."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def events(
        self,
        account_id: int | None = None,
        *,
        kind: EventKind | None = None,
        since: dt.datetime | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> list[AuditEvent]:
        """Events, newest first: of one account or all, of one kind, since a time, below an id.

        The limit is 1 to `MAX_AT_ONCE`; a larger one is lowered.
        """
        accounts, audit = tables.accounts, tables.audit
        query = (
            sa.select(audit.c.id, audit.c.at, audit.c.kind, audit.c.account_id, accounts.c.email)
            .add_columns(audit.c.actor, audit.c.network, audit.c.agent, audit.c.subject)
            .join_from(audit, accounts, _own(), isouter=True)
            .order_by(audit.c.id.desc())
            .limit(max(1, min(limit, MAX_AT_ONCE)))
        )
        if account_id is not None:
            query = query.where(_own(), audit.c.account_id == account_id)
        if kind is not None:
            query = query.where(audit.c.kind == kind)
        if since is not None:
            query = query.where(audit.c.at >= since)
        if before is not None:
            query = query.where(audit.c.id < before)
        rows = await self._database.rows(query)
        return [AuditEvent(number, at, EventKind(kind), *rest) for number, at, kind, *rest in rows]


def _own() -> sa.ColumnElement[bool]:
    # No account gets the number of a deleted one that the log still names. Should one get it all
    # the same, as from a copy that was put back, it must not see what was before.
    accounts, audit = tables.accounts, tables.audit
    return (accounts.c.id == audit.c.account_id) & (accounts.c.created_at <= audit.c.at)

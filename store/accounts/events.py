"""Events: reads the audit log, newest first, and removes what is too old.

The log is bounded. What strangers did gives way first, so that nobody can push out what others did.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from store.accounts.accounts import aware, utc_now
from store.accounts.audit import Kind
from store.database import tables
from store.database.database import Database

MOST_EVENTS = 1_000_000
"""Events that are kept in all, about 250 MB; a sweep removes those above it."""

MOST_AT_ONCE = 10_000
"""Events that one look-up returns at most, and one transaction of a sweep removes."""


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the log."""

    id: int
    at: dt.datetime
    kind: Kind
    account_id: int | None
    """The account that it concerns, which may have been deleted."""
    email: str | None
    """The account's address; None if there is no such account, or no more."""
    actor: str
    network: str
    agent: str
    subject: str


class AuditLog:
    """Reads the log, and removes what is too old."""

    def __init__(
        self,
        database: Database,
        *,
        clock: Callable[[], dt.datetime] = utc_now,
        most: int = MOST_EVENTS,
    ) -> None:
        self._database = database
        self._clock = clock
        self._most = most

    async def events(
        self,
        account_id: int | None = None,
        *,
        kind: Kind | None = None,
        since: dt.datetime | None = None,
        before: int | None = None,
        limit: int = 100,
    ) -> list[Event]:
        """Events, newest first: of one account or all, of one kind, since a time, below an id.

        The limit is 1 to `MOST_AT_ONCE`; a larger one is lowered.
        """
        accounts, audit = tables.accounts, tables.audit
        query = (
            sa.select(audit, accounts.c.email)
            .join_from(audit, accounts, _own(), isouter=True)
            .order_by(audit.c.id.desc())
            .limit(max(1, min(limit, MOST_AT_ONCE)))
        )
        if account_id is not None:
            query = query.where(_own(), audit.c.account_id == account_id)
        if kind is not None:
            query = query.where(audit.c.kind == kind)
        if since is not None:
            query = query.where(audit.c.at >= since)
        if before is not None:
            query = query.where(audit.c.id < before)
        async with self._database.read() as connection:
            return [_to_event(row) for row in await connection.execute(query)]

    async def sweep(self, days: int) -> int:
        """Remove the events that are older than some days, and those above the bound.

        Above it, what strangers did gives way first, then the oldest events of the account that has
        the most. Returns how many were removed.
        """
        audit, oldest, removed = tables.audit, self._clock() - dt.timedelta(days=days), 0
        while chosen := await self._older(oldest) or await self._surplus():
            # A bounded number at once: nobody else writes to SQLite meanwhile.
            async with self._database.write(patient=True) as connection:
                deleted = await connection.execute(audit.delete().where(audit.c.id.in_(chosen)))
            removed += deleted.rowcount
        return removed

    async def _older(self, oldest: dt.datetime) -> list[int]:
        """Some of the events from before a time."""
        audit = tables.audit
        query = sa.select(audit.c.id).where(audit.c.at < oldest).limit(MOST_AT_ONCE)
        async with self._database.read() as connection:
            return list((await connection.execute(query)).scalars())

    async def _surplus(self) -> list[int]:
        """Some of the events that give way, if there are more than the bound."""
        audit = tables.audit
        strangers = sa.select(audit.c.id).where(audit.c.actor == "stranger").order_by(audit.c.id)
        rank = sa.func.row_number().over(
            partition_by=audit.c.account_id, order_by=audit.c.id.desc()
        )
        busiest = sa.select(audit.c.id).order_by(rank.desc(), audit.c.id)
        async with self._database.read() as connection:
            count = await connection.scalar(sa.select(sa.func.count()).select_from(audit)) or 0
            if count <= self._most:
                return []
            most = min(count - self._most, MOST_AT_ONCE)
            first = list((await connection.execute(strangers.limit(most))).scalars())
            return first or list((await connection.execute(busiest.limit(most))).scalars())


def _own() -> sa.ColumnElement[bool]:
    # No account gets the number of a deleted one that the log still names. Should one get it all
    # the same, as from a copy that was put back, it must not see what was before.
    accounts, audit = tables.accounts, tables.audit
    return (accounts.c.id == audit.c.account_id) & (accounts.c.created_at <= audit.c.at)


def _to_event(row: sa.Row[*tuple[Any, ...]]) -> Event:
    kind, at = Kind(row.kind), aware(row.at)
    return Event(
        id=row.id,
        at=at,
        kind=kind,
        account_id=row.account_id,
        email=row.email,
        actor=row.actor,
        network=row.network,
        agent=row.agent,
        subject=row.subject,
    )

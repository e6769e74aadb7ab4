"""Retention: what is expired, or older than it is kept, is removed from the account database.

Each kind of rows goes in a transaction of its own; one that fails stops no other. In the audit
log the events of strangers give way first, so that nobody can push out those of others.
"""

from __future__ import annotations

import datetime as dt
import logging
import random
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, NamedTuple

import anyio
import sqlalchemy as sa

from store.accounts import clients
from store.accounts.accounts import Clock, utc_now
from store.accounts.audit import MAX_AT_ONCE
from store.accounts.sessions import BROWSER_LIFETIME, live
from store.database import tables
from store.database.database import Database
from store.errors import StoreError

MAX_EVENTS = 1_000_000
"""Events that are kept in all, about 250 MB; those above it are removed."""

REVOKED_KEPT: Final = 200
"""Revoked grants of an account that are kept, the newest, until their tokens have expired."""

CHANGES_KEPT: Final = dt.timedelta(hours=1)
"""For which a noted change of PostgreSQL is kept. Nobody asks for older ones: after a pause without
an answer all is forgotten."""

SWEEP_SECONDS = 3600

START_SECONDS = 300
"""Within which each process begins, at a moment of its own, so that they do not all write at once.
"""

log = logging.getLogger(__name__)


class Periods(NamedTuple):
    """How long is kept what has no end of its own."""

    usage: dt.timedelta
    """Lines of usage, and keys that ended."""
    audit: dt.timedelta
    session_idle: dt.timedelta
    session: dt.timedelta


class Removed(NamedTuple):
    """How many rows were removed of what, and how many kinds could not be removed."""

    rows: dict[str, int]
    failures: int


class Sweeper:
    """Removes what is expired or old from an account database."""

    def __init__(
        self,
        database: Database,
        periods: Periods,
        *,
        clock: Clock = utc_now,
        most_events: int = MAX_EVENTS,
        pause: Callable[[float], Awaitable[None]] = anyio.sleep,
        chance: Callable[[], float] = random.random,  # noqa: S311 - no secret
    ) -> None:
        self._database = database
        self._periods = periods
        self._clock = clock
        self._most_events = most_events
        self._pause = pause
        self._chance = chance

    async def keep_sweeping(self) -> None:
        """Sweep every hour until cancelled, first within START_SECONDS."""
        await self._pause(START_SECONDS * self._chance())
        while True:
            await self.sweep()
            await self._pause(SWEEP_SECONDS)

    async def sweep(self) -> Removed:
        """Remove every kind of rows once, and say how many of each; a failure is logged."""
        now = self._clock()
        removals: dict[str, Callable[[], Awaitable[int]]] = {
            "grants": partial(self._remove_grants, now),
            **{what: partial(self._remove, old) for what, old in self._old_rows(now).items()},
            "events": partial(self._remove_events, now),
        }
        removed, failures = dict[str, int](), 0
        for what, remove in removals.items():
            try:
                removed[what] = await remove()
            except StoreError as error:
                failures += 1
                log.warning("Expired %s could not be removed and stay for now: %s", what, error)
            except Exception:
                failures += 1
                log.exception("Expired %s could not be removed and stay for now.", what)
        return Removed(removed, failures)

    def _old_rows(self, now: dt.datetime) -> dict[str, sa.Delete]:
        """Which rows are old, by what people call them: hosts after the grants that keep them."""
        keys, browsers, usage, periods = tables.keys, tables.browsers, tables.usage, self._periods
        before = now - periods.usage
        old = {
            "hosts": (tables.clients, clients.unneeded(now)),
            "keys": (keys, (keys.c.revoked_at < before) | (keys.c.expires_at < before)),
            "sessions": (tables.sessions, ~live(now, periods.session_idle, periods.session)),
            "known browsers": (browsers, browsers.c.seen_at <= now - BROWSER_LIFETIME),
            "used forms": (tables.used_forms, tables.used_forms.c.expires_at <= now),
            "lines of usage": (usage, usage.c.day < before.date()),
        }
        if self._database.server:  # SQLite keeps one of each account, which numbers the next ones
            old["noted changes"] = (tables.changes, tables.changes.c.at < now - CHANGES_KEPT)
        return {what: table.delete().where(condition) for what, (table, condition) in old.items()}

    async def _remove(self, rows: sa.Delete) -> int:
        async with self._database.write(patient=True) as connection:
            return (await connection.execute(rows)).rowcount

    async def _remove_grants(self, now: dt.datetime) -> int:
        """Delete the grants whose codes and tokens have all expired.

        Used codes and tokens stay as long as their grant, because presenting one again revokes it.
        An account keeps only so many revoked grants, because making them costs it nothing.
        """
        grants, codes, tokens = tables.grants, tables.codes, tables.tokens
        alive = sa.union(
            *(
                sa.select(table.c.grant_id).where(table.c.expires_at > now).correlate(None)
                for table in (codes, tokens)
            )
        )
        async with self._database.write(patient=True) as connection:
            surplus = list(await connection.scalars(_surplus_grants()))
            for column in (codes.c.grant_id, tokens.c.grant_id, grants.c.id):
                old = column.not_in(alive) | column.in_(surplus)
                removed = await connection.execute(column.table.delete().where(old))
        return removed.rowcount

    async def _remove_events(self, now: dt.datetime) -> int:
        """Delete the events that are too old, and those above the bound, a bounded number at once:
        nobody else writes to SQLite meanwhile.
        """
        audit, removed = tables.audit, 0
        old = sa.select(audit.c.id).where(audit.c.at < now - self._periods.audit)
        while chosen := await self._ids(old) or await self._surplus_events():
            removed += await self._remove(audit.delete().where(audit.c.id.in_(chosen)))
        return removed

    async def _surplus_events(self) -> list[int]:
        """Some of the events above the bound: first what strangers did, then the oldest events of
        the account that has the most.
        """
        audit = tables.audit
        strangers = sa.select(audit.c.id).where(audit.c.actor == "stranger").order_by(audit.c.id)
        rank = sa.func.row_number().over(
            partition_by=audit.c.account_id, order_by=audit.c.id.desc()
        )
        busiest = sa.select(audit.c.id).order_by(rank.desc(), audit.c.id)
        count = await self._database.scalar(sa.select(sa.func.count()).select_from(audit))
        most = (count or 0) - self._most_events
        if most <= 0:
            return []
        return await self._ids(strangers, most) or await self._ids(busiest, most)

    async def _ids(self, query: sa.Select[tuple[int]], most: int = MAX_AT_ONCE) -> list[int]:
        """Some of the ids that a query finds."""
        rows = await self._database.rows(query.limit(min(most, MAX_AT_ONCE)))
        return [number for (number,) in rows]


def _surplus_grants() -> sa.Select[tuple[int]]:
    """Some of the revoked grants that are too many of their account."""
    grants = tables.grants
    place = sa.func.row_number().over(
        partition_by=grants.c.account_id, order_by=(grants.c.revoked_at.desc(), grants.c.id.desc())
    )
    revoked = sa.select(grants.c.id, place.label("place")).where(grants.c.revoked_at.is_not(None))
    ranked = revoked.subquery()
    return sa.select(ranked.c.id).where(ranked.c.place > REVOKED_KEPT).limit(MAX_AT_ONCE)

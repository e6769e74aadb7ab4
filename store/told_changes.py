"""Told changes: PostgreSQL tells each process when what decides who may call was changed.

Triggers note each transaction that changes it, and notify (LISTEN, NOTIFY). One connection of each
process listens, outside the pool. A notification may be lost: with the connection, or in a pooler
that does not know of it. So the same connection also asks, several times a second, whether a
transaction is noted that the snapshot of the last answer did not see (section "Transaction ID and
Snapshot Information Functions" of PostgreSQL's manual).
"""

from __future__ import annotations

import datetime as dt
import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import anyio

from store import tables
from store.accounts import utc_now
from store.database import Database
from store.postgresql import Server
from store.reaching import why_not

if TYPE_CHECKING:
    from asyncpg import Connection

CHANNEL = "screener_changes"

POLL_SECONDS = 0.4
"""Between two questions."""

FRESH_SECONDS = 1.2
"""For which an answer counts, from when it was asked for. Then nothing is known, nothing is kept,
and the question counts as unanswered."""

RETRY_SECONDS = 0.4
"""Before another connection is tried."""

UNTOLD = 2
"""Changes in a row that were not told but found, after which telling counts as broken."""

KEPT = dt.timedelta(hours=1)
"""For which a noted change is kept. Nobody asks for older ones: after a pause without an answer all
is forgotten.
"""

SNAPSHOT = "SELECT pg_current_snapshot()::text"

POLL = """
    SELECT pg_current_snapshot()::text AS snapshot, EXISTS (
        SELECT 1 FROM changing_transactions
        WHERE id >= pg_snapshot_xmin($1::text::pg_snapshot)::text::bigint
        AND NOT pg_visible_in_snapshot(id::text::xid8, $1::text::pg_snapshot)
    ) AS changed
"""
"""One statement has one snapshot: no transaction falls between two questions."""

log = logging.getLogger(__name__)


class ToldChanges:
    """A count in memory, which moves when PostgreSQL tells of a change or a question finds one."""

    def __init__(
        self, database: Database, server: Server, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._database = database
        self._server = server
        self._clock = clock
        self._count = 0
        self._asked_at: float | None = None  # the last question that was answered
        self._was_told = True
        self._untold = 0
        self.fault: str | None = None

    def open(self) -> None:
        """Count what this process changes itself; other changes count while it watches."""
        self._database.told.append(self._change)

    def close(self) -> None:
        """Forget what is known."""
        self._asked_at = None
        if self._change in self._database.told:
            self._database.told.remove(self._change)

    def count(self) -> int | None:
        """The number of changes so far; None while it may be outdated."""
        return self._count if self._is_fresh(self._clock()) else None

    def holds(self, _credential: str) -> None:
        """It cannot be told without a round trip."""
        return

    async def keep_watching(self) -> None:
        """Watch for changes until cancelled, over one connection after the other."""
        from asyncpg import InterfaceError, PostgresError

        while True:
            try:
                await self._watch()
            except (PostgresError, InterfaceError, OSError) as error:
                self._blame("Account changes are not announced; every call looks its account up.")
                log.info("Changes are not announced: %s.", why_not(error, self._database.url))
            await anyio.sleep(RETRY_SECONDS)

    async def _watch(self) -> None:
        """Listen and ask over one connection until it fails."""
        with anyio.fail_after(FRESH_SECONDS):
            connection = await self._server.connect()
        try:
            with anyio.fail_after(FRESH_SECONDS):
                await connection.add_listener(CHANNEL, self._hear)
                seen: str = await connection.fetchval(SNAPSHOT)
            self._change()
            self._asked_at = None
            while True:
                seen = await self._ask(connection, seen)
                await anyio.sleep(POLL_SECONDS)
        finally:
            connection.terminate()  # a polite end would wait for a server that does not answer

    async def _ask(self, connection: Connection, seen: str) -> str:
        """Ask what has changed since a snapshot; returns the next one."""
        asked_at = self._clock()
        with anyio.fail_after(FRESH_SECONDS):
            answer = await connection.fetchrow(POLL, seen)
        if answer["changed"] or not self._is_fresh(asked_at):
            self._change()
        self._notice(changed=answer["changed"])
        self._asked_at = asked_at
        return str(answer["snapshot"])

    def _notice(self, *, changed: bool) -> None:
        """Notice whether changes are told, or only found."""
        if self._was_told or changed:
            self._untold = 0 if self._was_told else self._untold + 1
        if self._untold >= UNTOLD:
            self._blame("Account changes are noticed only by polling, within a second.")
        elif self.fault:
            self.fault = None
            log.warning("Account changes are announced again.")
        self._was_told = False

    def _blame(self, fault: str) -> None:
        if fault != self.fault:
            log.warning(fault)
        self.fault = fault

    def _hear(self, *_notification: Any) -> None:  # noqa: ANN401 - the driver's
        self._was_told = True
        self._change()

    def _change(self) -> None:
        self._count += 1

    def _is_fresh(self, now: float) -> bool:
        return self._asked_at is not None and now - self._asked_at <= FRESH_SECONDS


async def sweep(database: Database, clock: Callable[[], dt.datetime] = utc_now) -> int:
    """Delete the changes that were noted long ago; return how many were deleted."""
    noted = tables.changing_transactions
    async with database.write(patient=True) as connection:
        old = noted.delete().where(noted.c.at < clock() - KEPT)
        return (await connection.execute(old)).rowcount

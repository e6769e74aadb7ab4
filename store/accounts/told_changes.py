"""Told changes: PostgreSQL tells each process when what decides who may call was changed.

Triggers note each transaction that changes it, and notify (LISTEN, NOTIFY). One connection of each
process listens, outside the pool. A notification may be lost: with the connection, or in a pooler
that does not know of it. So the same connection also asks, several times a second, whether a
transaction is noted that the snapshot of the last answer did not see (section "Transaction ID and
Snapshot Information Functions" of PostgreSQL's manual).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import anyio

from store.accounts.account_changes import ALL, AT_ONCE, Changes
from store.database.database import Database
from store.database.postgresql import Server
from store.database.reaching import why_not

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

SNAPSHOT = "SELECT pg_current_snapshot()::text"

POLL = """
    SELECT pg_current_snapshot()::text AS snapshot, ARRAY(
        SELECT DISTINCT account_id FROM changes
        WHERE id >= pg_snapshot_xmin($1::text::pg_snapshot)::text::bigint
        AND NOT pg_visible_in_snapshot(id::text::xid8, $1::text::pg_snapshot)
        LIMIT $2
    ) AS changed
"""
"""One statement has one snapshot: no transaction falls between two questions."""

log = logging.getLogger(__name__)


class ToldChanges(Changes):
    """Changes numbered in memory, when PostgreSQL tells of them or a question finds them."""

    def __init__(
        self, database: Database, server: Server, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._database = database
        self._server = server
        self._clock = clock
        self._number = 0
        self._asked_at: float | None = None  # the last question that was answered
        self._was_told = True
        self._untold = 0
        database.told.append(self._change)  # what this process changes itself

    def look(self) -> None:
        """See whether the last answer still counts."""
        # Until the turn ends. Both methods are the interpreter's: this costs no call of ours.
        asyncio.get_running_loop().call_soon(self.looked.clear)
        self.looked.append(True)
        self.count = self._number if self._is_fresh(self._clock()) else None

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
            self._change([ALL])
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
            answer = await connection.fetchrow(POLL, seen, AT_ONCE + 1)
        changed: list[int] = answer["changed"]
        if not self._is_fresh(asked_at) or len(changed) > AT_ONCE:
            changed = [ALL]
        if changed:
            self._change(changed)
        self._notice(changed=bool(answer["changed"]))
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

    def _hear(self, _connection: object, _process: int, _channel: str, accounts: object) -> None:
        """Hear of accounts, as `note_change` of the database names them."""
        self._was_told = True
        numbers = str(accounts).split(",")
        self._change([int(each) if each.isdecimal() else ALL for each in numbers])

    def _change(self, accounts: Collection[int]) -> None:
        self._number += 1
        self.note(accounts, self._number)

    def _is_fresh(self, now: float) -> bool:
        return self._asked_at is not None and now - self._asked_at <= FRESH_SECONDS

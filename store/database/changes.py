"""Changes of accounts: whose credentials, plan or tracked symbols have changed, whoever did it.

The numbers of changes only grow. What was looked up when `newest` was such a number is true until
its account has a newer one. Whoever needs to know looks, but once in a turn of the event loop: a
request that comes after a change is read in a later turn.
"""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

import anyio

from store.database.database import Database
from store.database.engines import Server
from store.database.problems import explain

if TYPE_CHECKING:
    from asyncpg import Connection

ALL = 0
"""The account whose changes are those of all."""

MAX_KEPT = 20_000
"""Accounts whose last change is known. One more, and all count as changed."""

AT_ONCE = 1_000
"""Accounts that are read of at once. More, and all count as changed."""

COUNTED = "SELECT account_id, id FROM changes WHERE id >= ? ORDER BY id DESC LIMIT ?"

CHANNEL = "screener_changes"

POLL_SECONDS = 0.4
"""Between two questions."""

FRESH_SECONDS = 1.2
"""For which an answer counts, from when it was asked for. Then nothing is known, nothing is kept,
and the question counts as unanswered."""

RETRY_SECONDS = 0.4
"""Before another connection is tried."""

UNANNOUNCED = "Account changes are not announced; every call looks its account up."

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


class AccountChanges(ABC):
    """What has changed so far. The attributes are read by whoever keeps what they tell of."""

    def __init__(self) -> None:
        self.looks_this_turn: list[bool] = []
        """Empty until somebody looks in this turn of the event loop."""
        self.newest: int | None = None
        """The newest change at the last look; None if it is not known at once."""
        self.newest_of: dict[int, int] = {}
        """The newest change of each account of which one was noted after `newest_of_all`."""
        self.newest_of_all = 0
        """The newest change of all accounts."""
        self.fault: str | None = None
        """Why changes are noticed later than they should be; None if they are not. A sentence for
        anybody.
        """

    def look(self) -> None:
        """Look what has changed, once in a turn of the event loop; takes some microseconds."""
        # Until the turn ends. Both methods are the interpreter's: this costs no call of ours.
        asyncio.get_running_loop().call_soon(self.looks_this_turn.clear)
        self.looks_this_turn.append(True)
        self.newest = self._newest()

    @abstractmethod
    def _newest(self) -> int | None:
        """The newest change, after noting what has changed."""

    async def keep_watching(self) -> None:
        """Watch for changes until cancelled."""
        await anyio.sleep_forever()

    def note(self, accounts: Collection[int], number: int) -> None:
        """Note that accounts have changed."""
        if ALL in accounts or len(self.newest_of) + len(accounts) > MAX_KEPT:
            self.newest_of.clear()
            self.newest_of_all = number
        else:
            self.newest_of.update(dict.fromkeys(accounts, number))


class CountedChanges(AccountChanges):
    """SQLite's: triggers number the changes, whether made by this process, another worker, the
    operator's command line or a shell.
    """

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = database
        self._connection: sqlite3.Connection | None = None
        self._number = 0

    def _newest(self) -> int | None:
        try:
            if self._connection is None:
                self._connection = self._database.reader()
            rows = self._connection.execute(COUNTED, (self._number, AT_ONCE + 1)).fetchall()
        except sqlite3.Error:  # locked, away, or not migrated yet
            self._connection = None
            return None
        # The newest change stays until there is another: without any this is another table, as of a
        # backup, made under a clock that was set back.
        if rows and rows[0][1] != self._number:
            changed = {account for account, number in rows if number > self._number}
            self._number = rows[0][1]
            self.note({ALL} if len(rows) > AT_ONCE else changed, self._number)
        return self._number if rows else None


class NotifiedChanges(AccountChanges):
    """PostgreSQL's: changes numbered in memory, when the server tells of them or a question finds
    them.

    Triggers note each transaction that changes what decides who may call, and notify (LISTEN,
    NOTIFY). One connection of each process listens, outside the pool. A notification may be lost:
    with the connection, or in a pooler that does not know of it. So the same connection also asks,
    several times a second, whether a transaction is noted that the snapshot of the last answer did
    not see (section "Transaction ID and Snapshot Information Functions" of PostgreSQL's manual).
    """

    def __init__(
        self, database: Database, server: Server, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__()
        self._database = database
        self._server = server
        self._clock = clock
        self._number = 0
        self._asked_at: float | None = None  # the last question that was answered
        database.listeners.append(self._change)  # what this process changes itself

    def _newest(self) -> int | None:
        return self._number if self._is_fresh(self._clock()) else None

    async def keep_watching(self) -> None:
        """Watch for changes until cancelled, over one connection after the other."""
        from asyncpg import InterfaceError, PostgresError

        while True:
            try:
                await self._watch()
            except (PostgresError, InterfaceError, OSError) as error:
                if self.fault is None:
                    log.warning(UNANNOUNCED)
                self.fault = UNANNOUNCED
                log.info("Changes are not announced: %s.", explain(error, self._database.url))
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
        if self.fault:
            self.fault = None
            log.warning("Account changes are announced again.")
        self._asked_at = asked_at
        return str(answer["snapshot"])

    def _hear(self, _connection: object, _process: int, _channel: str, accounts: object) -> None:
        """Hear of accounts, as `note_change` of the database names them."""
        numbers = str(accounts).split(",")
        self._change([int(each) if each.isdecimal() else ALL for each in numbers])

    def _change(self, accounts: Collection[int]) -> None:
        self._number += 1
        self.note(accounts, self._number)

    def _is_fresh(self, now: float) -> bool:
        return self._asked_at is not None and now - self._asked_at <= FRESH_SECONDS


def changes_of(database: Database) -> AccountChanges:
    """The changes of a database, as its engine tells them."""
    if database.server is None:
        return CountedChanges(database)
    return NotifiedChanges(database, database.server)

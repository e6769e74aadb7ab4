"""Changes of accounts: whose credentials, plan or tracked symbols have changed, whoever did it.

The numbers of changes only grow. What was looked up when `count` was the newest one is true until
its account has a newer one. Whoever needs to know looks, but once in a turn of the event loop: a
request that comes after a change is read in a later turn.
"""

from __future__ import annotations

import asyncio
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Collection

import anyio

from store.database.database import Database

ALL = 0
"""The account whose changes are those of all."""

MOST = 20_000
"""Accounts whose last change is known. One more, and all count as changed."""

AT_ONCE = 1_000
"""Accounts that are read of at once. More, and all count as changed."""

CHANGED = "SELECT account_id, id FROM changes WHERE id >= ? ORDER BY id DESC LIMIT ?"


class Changes(ABC):
    """What has changed so far. The attributes are read by whoever keeps what they tell of."""

    def __init__(self) -> None:
        self.looked: list[bool] = []
        """Empty until somebody looks in this turn of the event loop."""
        self.count: int | None = None
        """The newest change at the last look; None if it is not known at once."""
        self.of: dict[int, int] = {}
        """The newest change of each account of which one was noted after `of_all`."""
        self.of_all = 0
        """The newest change of all accounts."""
        self.fault: str | None = None
        """Why changes are noticed later than they should be; None if they are not. A sentence for
        anybody.
        """

    @abstractmethod
    def look(self) -> None:
        """Look what has changed, once in a turn of the event loop."""

    async def keep_watching(self) -> None:
        """Watch for changes until cancelled."""
        await anyio.sleep_forever()

    def note(self, accounts: Collection[int], number: int) -> None:
        """Note that accounts have changed."""
        if ALL in accounts or len(self.of) + len(accounts) > MOST:
            self.of.clear()
            self.of_all = number
        else:
            self.of.update(dict.fromkeys(accounts, number))


class CountedChanges(Changes):
    """SQLite's: triggers number the changes, whether made by this process, another worker, the
    operator's command line or a shell.
    """

    def __init__(self, database: Database) -> None:
        super().__init__()
        self._database = database
        self._connection: sqlite3.Connection | None = None
        self._newest = 0

    def look(self) -> None:
        """Read what has changed, which takes some microseconds."""
        # Until the turn ends. Both methods are the interpreter's: this costs no call of ours.
        asyncio.get_running_loop().call_soon(self.looked.clear)
        self.looked.append(True)
        try:
            if self._connection is None:
                self._connection = self._database.reader()
            rows = self._connection.execute(CHANGED, (self._newest, AT_ONCE + 1)).fetchall()
        except sqlite3.Error:  # locked, away, or not migrated yet
            self._connection = self.count = None
            return
        # The newest change stays until there is another: without any this is another table, as of a
        # backup, made under a clock that was set back.
        self.count = rows[0][1] if rows else None
        if rows and self.count != self._newest:
            self._note(rows)

    def _note(self, rows: list[tuple[int, int]]) -> None:
        changed = {account for account, number in rows if number > self._newest}
        self._newest = rows[0][1]
        self.note({ALL} if len(rows) > AT_ONCE else changed, self._newest)

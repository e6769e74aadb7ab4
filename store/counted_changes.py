"""Counted changes: SQLite's count of changes of what decides who may call, read on every call."""

from __future__ import annotations

import sqlite3

import anyio

from store.accounts import hash_secret

HOLDS = """
    SELECT EXISTS (SELECT 1 FROM keys WHERE secret_hash = ?1)
        OR EXISTS (SELECT 1 FROM tokens WHERE token_hash = ?1)
"""


class CountedChanges:
    """Triggers count, so every change is noticed, whether made by this process, another worker, the
    operator's command line or a shell.
    """

    fault: str | None = None

    def __init__(self, path: str) -> None:
        self._path = path
        self._connection: sqlite3.Connection | None = None

    def open(self) -> None:
        """Start reading the count; call it once the database is migrated."""
        # Do not wait for a lock: a count that cannot be read at once counts as unknown.
        self._connection = sqlite3.connect(self._path, timeout=0, isolation_level=None)

    def close(self) -> None:
        """Stop reading the count."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def keep_watching(self) -> None:
        """Nothing: whoever asks reads the count."""
        await anyio.sleep_forever()

    def count(self) -> int | None:
        """The number of changes so far; None if it cannot be read cheaply."""
        if self._connection is None:
            return None
        try:
            count: int = self._connection.execute("SELECT count FROM changes").fetchone()[0]
        except sqlite3.Error:
            return None
        return count

    def holds(self, credential: str) -> bool | None:
        """Whether a key or token is stored, live or not; None if it cannot be told cheaply.

        A stranger's guesses cost 10 us each instead of a transaction.
        """
        if self._connection is None:
            return None
        try:
            found: int = self._connection.execute(HOLDS, [hash_secret(credential)]).fetchone()[0]
        except sqlite3.Error:
            return None
        return bool(found)

"""Changes: notices when anything that decides who may call, or what they track, has changed.

The database itself counts such changes, by triggers, so whoever makes one is noticed: this process,
another worker, the operator's command line or a shell. Telling that it has not moved costs less
than 1 us, a look-up of a caller 700: so what was looked up is kept until it moves. Only an SQLite
file can be asked that cheaply; with any other database nothing is kept.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Generic, TypeVar

from sqlalchemy.engine import make_url

from store.commits import Commits

K = TypeVar("K")
V = TypeVar("V")

KEPT_LIMIT = 10_000
"""Entries kept of one kind; beyond them all are forgotten and looked up anew."""


class Changes:
    """The count of changes, on a kept connection of its own."""

    def __init__(self, url: str) -> None:
        address = make_url(url)
        self._path = address.database if address.get_backend_name() == "sqlite" else None
        self._connection: sqlite3.Connection | None = None
        self._commits: Commits | None = None
        self._mark: bytes | None = None
        self._count: int | None = None

    def open(self) -> None:
        """Start reading the count; call it once the database is migrated."""
        if self._path:
            # Never waits: a count that cannot be read at once is no count, and nothing is kept.
            self._connection = sqlite3.connect(
                self._path, timeout=0, isolation_level=None, check_same_thread=False
            )
            self._read()  # reading once makes SQLite open its WAL-index
            self._commits = Commits(Path(self._path))

    def close(self) -> None:
        """Stop reading it."""
        self._commits = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def count(self) -> int | None:
        """How many changes there were; None when that cannot be told cheaply."""
        mark = None if self._commits is None else self._commits.mark()
        if mark is None or mark != self._mark:
            # The mark is older than the count: a commit in between is noticed the next time.
            self._count = self._read()
            self._mark = mark if self._count is not None else None
        return self._count

    def _read(self) -> int | None:
        if self._connection is None:
            return None
        try:
            count: int = self._connection.execute("SELECT count FROM changes").fetchone()[0]
        except sqlite3.Error:
            return None
        return count


class Kept(Generic[K, V]):
    """Values that hold as long as the count they were read under.

    The count must be read before the value: then a change in between makes the value outdated.
    """

    def __init__(self, limit: int = KEPT_LIMIT) -> None:
        self._limit = limit
        self._values: dict[K, tuple[int, V]] = {}

    def get(self, key: K, count: int | None) -> V | None:
        """The value read under this count."""
        found = self._values.get(key)
        return found[1] if found is not None and found[0] == count else None

    def put(self, key: K, count: int | None, value: V) -> None:
        """Keep a value read under a count."""
        if count is None:
            return
        if len(self._values) >= self._limit:
            self._values.clear()
        self._values[key] = (count, value)

"""Principals: who holds a credential and what they track, kept until anything changes.

A principal is kept only once a call of theirs was admitted, so that refused calls cost no memory.
All are forgotten as soon as the database counts a change, which takes 3 us to read where looking a
caller up takes 700. Where it cannot be asked so cheaply nothing is kept, and each call looks up.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from cachetools import LRUCache
from sqlalchemy.engine import make_url

from store.accounts import Accounts, Principal, utc_now
from store.tokens import Tokens
from store.watchlist import Watchlist

KEPT_BYTES = 8 * 1024 * 1024
"""All kept principals and watchlists together, their keys included."""

PRINCIPAL_BYTES = 2048
"""A bound on one principal with its key: an e-mail address, a name and a few dates."""

SYMBOL_BYTES = 96
"""A bound on one symbol of a watchlist: at most 24 characters."""

Kept = Principal | tuple[str, ...]


class Principals:
    """Finds who is behind a credential; what was found is kept while nothing changes."""

    def __init__(
        self,
        accounts: Accounts,
        tokens: Tokens,
        watchlist: Watchlist,
        changes: Changes,
        *,
        clock: Callable[[], dt.datetime] = utc_now,
        kept_bytes: int = KEPT_BYTES,
    ) -> None:
        self._accounts = accounts
        self._tokens = tokens
        self._watchlist = watchlist
        self._changes = changes
        self._clock = clock
        self._count: int | None = None
        # Principals by the hash of their credential, tracked symbols by the account's id.
        self._kept: LRUCache[bytes | int, Kept] = LRUCache(kept_bytes, getsizeof=_size)

    def open(self) -> None:
        """Begin to keep what is found; call it once the database is migrated."""
        self._changes.open()

    def close(self) -> None:
        """Keep nothing any more."""
        self._changes.close()

    def kind(self, credential: str) -> Literal["key", "token"]:
        """Whether a credential is spelled as an API key or counts as an access token."""
        return "key" if credential.startswith(self._accounts.key_prefix) else "token"

    async def find(self, credential: str) -> Principal | None:
        """Who holds a credential; None for an unknown, revoked or expired one.

        Raises:
            DatabaseUnavailableError: it could not be looked up.
        """
        self._forget_if_changed()
        digest = hashlib.sha256(credential.encode()).digest()  # no secret stays in memory
        kept = self._kept.get(digest)
        if isinstance(kept, Principal) and not (
            kept.expires_at and kept.expires_at <= self._clock()
        ):
            return kept
        count = self._count
        is_key = self.kind(credential) == "key"
        look_up = self._accounts.principal if is_key else self._tokens.principal
        found = await look_up(credential)
        if found is None:
            return None
        return replace(found, digest=digest, changes=count)

    def remember(self, principal: Principal) -> None:
        """Keep an admitted principal, unless something has changed since they were looked up."""
        if principal.changes is not None and principal.changes == self._count:
            self._kept.setdefault(principal.digest, principal)

    async def tracked(self, principal: Principal) -> tuple[str, ...]:
        """The symbols that a principal's account tracks, in the order the user keeps them.

        Raises:
            DatabaseUnavailableError: they could not be looked up.
        """
        account_id, count = principal.account.id, self._count
        kept = self._kept.get(account_id) if principal.changes == count else None
        if isinstance(kept, tuple):
            return kept
        symbols = tuple(await self._watchlist.symbols(account_id))
        if count is not None and count == self._count:
            self._kept[account_id] = symbols
        return symbols

    def _forget_if_changed(self) -> None:
        # Read before anything is looked up: a change in between then makes what was found outdated.
        count = self._changes.count()
        if count is None or count != self._count:
            self._kept.clear()
        self._count = count


def _size(kept: Kept) -> int:
    if isinstance(kept, Principal):
        return PRINCIPAL_BYTES
    return PRINCIPAL_BYTES + SYMBOL_BYTES * len(kept)


class Changes:
    """The database's own count of changes to who may call and to what they track.

    Triggers count, so whoever makes a change is noticed: this process, another worker, the
    operator's command line or a shell. Only an SQLite file can be asked so cheaply.
    """

    def __init__(self, url: str) -> None:
        address = make_url(url)
        self._path = address.database if address.get_backend_name() == "sqlite" else None
        self._connection: sqlite3.Connection | None = None

    def open(self) -> None:
        """Start reading the count; call it once the database is migrated."""
        if self._path:
            # It never waits: a count that cannot be read at once is no count.
            self._connection = sqlite3.connect(self._path, timeout=0, isolation_level=None)

    def close(self) -> None:
        """Stop reading it."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def count(self) -> int | None:
        """How many changes there were; None when that cannot be told cheaply."""
        if self._connection is None:
            return None
        try:
            count: int = self._connection.execute("SELECT count FROM changes").fetchone()[0]
        except sqlite3.Error:
            return None
        return count

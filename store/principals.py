"""Principals: a cache of the holders of credentials and of the symbols that they track.

A principal is cached only after one of its calls was admitted, so refused calls cost no memory. The
cache is cleared whenever the database's count of changes moves. Reading that count takes 3 us; a
look-up takes 700. On a database without such a count nothing is cached and every call looks up.
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

from store.accounts import hash_secret, utc_now
from store.keys import Keys, Principal
from store.tokens import Tokens
from store.watchlist import Watchlist
from telemetry.metrics import principals_cache

KEPT_BYTES = 8 * 1024 * 1024
"""The size of the cache: all principals and watchlists, cache keys included."""

PRINCIPAL_BYTES = 2048
"""An upper bound for one principal with its key: an e-mail address, a name and a few dates."""

SYMBOL_BYTES = 96
"""An upper bound for one symbol of a watchlist, which has at most 24 characters."""

HOLDS = """
    SELECT EXISTS (SELECT 1 FROM keys WHERE secret_hash = ?1)
        OR EXISTS (SELECT 1 FROM tokens WHERE token_hash = ?1)
"""

Kept = Principal | tuple[str, ...]


class Principals:
    """Finds the principal of a credential; results are cached until the database changes."""

    def __init__(
        self,
        keys: Keys,
        tokens: Tokens,
        watchlist: Watchlist,
        changes: Changes,
        *,
        clock: Callable[[], dt.datetime] = utc_now,
        kept_bytes: int = KEPT_BYTES,
    ) -> None:
        self._keys = keys
        self._tokens = tokens
        self._watchlist = watchlist
        self._changes = changes
        self._clock = clock
        self._count: int | None = None
        # Principals by the hash of their credential, tracked symbols by account id.
        self._kept: LRUCache[bytes | int, Kept] = LRUCache(kept_bytes, getsizeof=_size)

    def open(self) -> None:
        """Start caching. Call it once the database is migrated."""
        self._changes.open()

    def close(self) -> None:
        """Stop caching."""
        self._changes.close()

    def kind(self, credential: str) -> Literal["key", "token"]:
        """Whether a credential is spelled as an API key or counts as an access token."""
        return "key" if credential.startswith(self._keys.prefix) else "token"

    async def find(self, credential: str) -> Principal | None:
        """The principal of a credential; None if it is unknown, revoked or expired.

        Raises:
            DatabaseUnavailableError: the credential could not be looked up.
        """
        self._forget_if_changed()
        digest = hashlib.sha256(credential.encode()).digest()  # the cache holds no secrets
        kept = self._kept.get(digest)
        if isinstance(kept, Principal) and not (
            kept.expires_at and kept.expires_at <= self._clock()
        ):
            principals_cache.count(found=True)
            return kept
        principals_cache.count(found=False)
        count = self._count
        if self._changes.holds(credential) is False:
            return None
        is_key = self.kind(credential) == "key"
        look_up = self._keys.principal if is_key else self._tokens.principal
        found = await look_up(credential)
        if found is None:
            return None
        return replace(found, digest=digest, changes=count)

    def remember(self, principal: Principal) -> None:
        """Cache an admitted principal, unless the database has changed since its look-up."""
        if principal.changes is not None and principal.changes == self._count:
            self._kept.setdefault(principal.digest, principal)

    async def tracked(self, principal: Principal) -> tuple[str, ...]:
        """The symbols that a principal's account tracks, in the user's order.

        Raises:
            DatabaseUnavailableError: the symbols could not be looked up.
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
        # The count is read before the look-up, so a change in between outdates the result.
        count = self._changes.count()
        if count is None or count != self._count:
            self._kept.clear()
        self._count = count


def _size(kept: Kept) -> int:
    if isinstance(kept, Principal):
        return PRINCIPAL_BYTES
    return PRINCIPAL_BYTES + SYMBOL_BYTES * len(kept)


class Changes:
    """The database's count of changes to accounts, credentials and tracked symbols, read at once.

    Triggers count, so every change is noticed, whether made by this process, another worker, the
    operator's command line or a shell. Only an SQLite file can be read this cheaply.
    """

    def __init__(self, url: str) -> None:
        address = make_url(url)
        self._path = address.database if address.get_backend_name() == "sqlite" else None
        self._connection: sqlite3.Connection | None = None

    def open(self) -> None:
        """Start reading the count; call it once the database is migrated."""
        if self._path:
            # Do not wait for a lock: a count that cannot be read at once counts as unknown.
            self._connection = sqlite3.connect(self._path, timeout=0, isolation_level=None)

    def close(self) -> None:
        """Stop reading the count."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

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

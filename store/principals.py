"""Principals: a cache of the holders of credentials and of the symbols that they track.

A principal is cached only after one of its calls was admitted, so refused calls cost no memory. The
cache is cleared whenever the count of changes moves: of SQLite it is read on every call (3 us),
PostgreSQL tells of changes. While the count is not known nothing is cached and every call looks up.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Literal, Protocol

import anyio
from cachetools import LRUCache

from store.accounts import utc_now
from store.counted_changes import CountedChanges
from store.database import POOL, SECONDS, Database
from store.errors import DatabaseUnavailableError
from store.keys import Keys, Principal
from store.tokens import Tokens
from store.told_changes import ToldChanges
from store.watchlist import Watchlist
from telemetry.metrics import principals_cache

KEPT_BYTES = 8 * 1024 * 1024
"""The size of the cache: all principals and watchlists, cache keys included."""

PRINCIPAL_BYTES = 2048
"""An upper bound for one principal with its key: an e-mail address, a name and a few dates."""

SYMBOL_BYTES = 96
"""An upper bound for one symbol of a watchlist, which has at most 24 characters."""

UNKNOWN = 10_000
"""Credentials that open nothing and are remembered as such, 32 bytes each."""

Kept = Principal | tuple[str, ...]


class Changes(Protocol):
    """The count of changes to accounts, credentials and tracked symbols, whoever makes them."""

    @property
    def fault(self) -> str | None:
        """Why changes are noticed later than they should be; None if they are not. A sentence
        for anybody.
        """

    def open(self) -> None:
        """Start counting. Call it once the database is migrated."""

    def close(self) -> None:
        """Stop counting."""

    async def keep_watching(self) -> None:
        """Watch for changes until cancelled."""

    def count(self) -> int | None:
        """The number of changes so far; None if it is not known at once."""

    def holds(self, credential: str) -> bool | None:
        """Whether a key or token is stored, live or not; None if it cannot be told at once."""


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
        at_once: int = POOL // 2,
        seconds: float = SECONDS,
    ) -> None:
        """At most `at_once` credentials are looked up at once, so that a flood of guesses leaves
        connections for whatever else needs one; the others wait for at most `seconds`.
        """
        self._keys = keys
        self._tokens = tokens
        self._watchlist = watchlist
        self._changes = changes
        self._clock = clock
        self._count: int | None = None
        # Principals by the hash of their credential, tracked symbols by account id.
        self._kept: LRUCache[bytes | int, Kept] = LRUCache(kept_bytes, getsizeof=_size)
        # Hashes of credentials that open nothing, which a broken client shows again and again.
        self._unknown: LRUCache[bytes, None] = LRUCache(UNKNOWN)
        self._turns = anyio.Semaphore(at_once)
        self._seconds = seconds

    def open(self) -> None:
        """Start caching. Call it once the database is migrated."""
        self._changes.open()

    def close(self) -> None:
        """Stop caching."""
        self._changes.close()

    @property
    def fault(self) -> str | None:
        """Why changes are noticed later than they should be, in a sentence for anybody."""
        return self._changes.fault

    async def keep_watching(self) -> None:
        """Watch for changes until cancelled."""
        await self._changes.keep_watching()

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
        if digest in self._unknown or self._changes.holds(credential) is False:
            return None
        found = await self._look_up(credential)
        if found is not None:
            return replace(found, digest=digest, changes=count)
        if count is not None and count == self._count:
            self._unknown[digest] = None
        return None

    async def _look_up(self, credential: str) -> Principal | None:
        is_key = self.kind(credential) == "key"
        look_up = self._keys.principal if is_key else self._tokens.principal
        with anyio.move_on_after(self._seconds) as waited:
            await self._turns.acquire()
        if waited.cancelled_caught:
            raise DatabaseUnavailableError("Too many credentials are looked up at once.")
        try:
            return await look_up(credential)
        finally:
            self._turns.release()

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
            self._unknown.clear()
        self._count = count


def _size(kept: Kept) -> int:
    if isinstance(kept, Principal):
        return PRINCIPAL_BYTES
    return PRINCIPAL_BYTES + SYMBOL_BYTES * len(kept)


def changes_of(database: Database) -> Changes:
    """The changes of a database, as its engine tells them."""
    if database.server is None:
        return CountedChanges(database.engine.url.database or "")
    return ToldChanges(database, database.server)

"""Principals: a cache of the holders of credentials and of the symbols that they track.

Each is kept with the number of the newest change before its look-up. It is looked up again when its
account has changed since, and nobody else's is: whoever writes costs others nothing. While it is
not known what has changed nothing is kept and every call looks up.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable
from typing import Any

import anyio
from cachetools import LRUCache

from screener.telemetry.metrics import principals_cache
from store.accounts.accounts import utc_now
from store.accounts.keys import Keys, Principal
from store.accounts.tokens import Tokens
from store.accounts.watchlist import Watchlist
from store.database.changes import AccountChanges
from store.database.database import POOL, SECONDS
from store.errors import DatabaseUnavailableError

KEPT_BYTES = 8 * 1024 * 1024
"""The size of the cache: all principals and watchlists, cache keys included."""

PRINCIPAL_BYTES = 2048
"""An upper bound for one principal with its key: an e-mail address, a name and a few dates."""

SYMBOL_BYTES = 96
"""An upper bound for one symbol of a watchlist, which has at most 24 characters."""

UNKNOWN = 10_000
"""Credentials that open nothing and are remembered as such, 32 bytes each."""

NOTHING: tuple[int, Any] = (0, None)
"""Instead of what is not kept."""


class Principals:
    """Finds the principal of a credential; results are cached until its account changes."""

    def __init__(
        self,
        keys: Keys,
        tokens: Tokens,
        watchlist: Watchlist,
        changes: AccountChanges,
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
        self.changes = changes
        """What has changed; somebody has to keep it watching."""
        self._clock = clock
        # Each with the newest change before it was looked up: principals by the hash of their
        # credential, tracked symbols by the number of their account.
        self._kept: LRUCache[bytes | int, tuple[int, Any]] = LRUCache(kept_bytes, getsizeof=_size)
        # Hashes of credentials that open nothing, which a broken client shows again and again.
        self._unknown: LRUCache[bytes, int] = LRUCache(UNKNOWN)
        self._turns = anyio.Semaphore(at_once)
        self._seconds = seconds

    @property
    def prefix(self) -> str:
        """What every API key begins with."""
        return self._keys.prefix

    async def find(self, credential: str) -> Principal | None:
        """The principal of a credential; None if it is unknown, revoked or expired. One that is
        kept comes without a wait, and without a further call of ours: each request asks this.

        Raises:
            DatabaseUnavailableError: the credential could not be looked up.
        """
        changes = self.changes
        if not changes.looks_this_turn:
            changes.look()
        digest = hashlib.sha256(credential.encode()).digest()  # the cache holds no secrets
        if changes.newest is not None:
            number, kept = self._kept.get(digest, NOTHING)
            if (
                kept is not None
                and number >= changes.newest_of.get(kept.account.id, changes.newest_of_all)
                and (kept.expires_at is None or kept.expires_at > self._clock())
            ):
                principals_cache.hits += 1
                found: Principal = kept
                return found
        principals_cache.misses += 1
        return await self._look_up(credential, digest)

    async def tracked(self, principal: Principal) -> tuple[str, ...]:
        """The symbols that a principal's account tracks, in the user's order.

        Raises:
            DatabaseUnavailableError: the symbols could not be looked up.
        """
        changes, account_id = self.changes, principal.account.id
        if not changes.looks_this_turn:
            changes.look()
        newest = changes.newest
        if newest is not None:
            number, kept = self._kept.get(account_id, NOTHING)
            if kept is not None and number >= changes.newest_of.get(
                account_id, changes.newest_of_all
            ):
                found: tuple[str, ...] = kept
                return found
        symbols = tuple(await self._watchlist.symbols(account_id))
        if newest is not None:
            self._kept[account_id] = newest, symbols
        return symbols

    async def _look_up(self, credential: str, digest: bytes) -> Principal | None:
        """Look a credential up and keep what was found, as of the changes before."""
        newest = self.changes.newest
        if newest is not None and self._unknown.get(digest) == newest:
            return None
        is_key = credential.startswith(self.prefix)
        look_up = self._keys.principal if is_key else self._tokens.principal
        await self._wait()
        try:
            found = await look_up(credential)
        finally:
            self._turns.release()
        if found is None:
            self._kept.pop(digest, None)
        if newest is not None and found is None:
            self._unknown[digest] = newest
        elif newest is not None:
            self._kept[digest] = newest, found
        return found

    async def _wait(self) -> None:
        """Wait for a turn to look up, which most often is there."""
        try:
            self._turns.acquire_nowait()
        except anyio.WouldBlock:
            with anyio.move_on_after(self._seconds) as waited:
                await self._turns.acquire()
            if waited.cancelled_caught:
                raise DatabaseUnavailableError(
                    "Too many credentials are looked up at once."
                ) from None


def _size(kept: tuple[int, Any]) -> int:
    """The bytes of a principal, or of the symbols of an account."""
    symbols = () if isinstance(kept[1], Principal) else kept[1]
    return PRINCIPAL_BYTES + SYMBOL_BYTES * len(symbols)

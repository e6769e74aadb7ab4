"""Holders: who holds a credential, an API key or an access token; kept until something changes."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from store.accounts import Accounts, KeyHolder
from store.changes import Changes, Kept
from store.tokens import Tokens


class Found(NamedTuple):
    """Who was found behind a credential, and the count of changes before looking."""

    holder: KeyHolder | None
    changes: int | None


class Holders:
    """Looks credentials up; one that is unknown is looked up each time."""

    def __init__(self, accounts: Accounts, tokens: Tokens, changes: Changes) -> None:
        self._accounts = accounts
        self._tokens = tokens
        self._changes = changes
        self._kept: Kept[bytes, KeyHolder] = Kept()

    def is_key(self, credential: str) -> bool:
        """Whether a credential is spelled as an API key."""
        return credential.startswith(self._accounts.key_prefix)

    def kept(self, credential: str) -> Found | None:
        """Who was found before and still holds a credential, if that can be told at once."""
        changes = self._changes.count()
        holder = self._kept.get(_digest(credential), changes)
        if holder is None or (holder.expires_at is not None and self._tokens.expired(holder)):
            return None
        return Found(holder, changes)

    async def find(self, credential: str) -> Found:
        """Who holds a credential: None for an unknown, revoked or expired one."""
        changes = self._changes.count()
        look = self._accounts.holder if self.is_key(credential) else self._tokens.holder
        holder = await look(credential)
        if holder is not None:
            self._kept.put(_digest(credential), changes, holder)
        return Found(holder, changes)


def _digest(credential: str) -> bytes:
    # No secret stays in memory.
    return hashlib.sha256(credential.encode()).digest()

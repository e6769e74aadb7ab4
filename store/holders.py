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

    async def find(self, credential: str) -> Found:
        """Who holds a credential: None for an unknown, revoked or expired one."""
        changes = self._changes.count()
        # Keyed by digest: no secret stays in memory.
        digest = hashlib.sha256(credential.encode()).digest()
        holder = self._kept.get(digest, changes)
        if holder is not None and not self._tokens.expired(holder):
            return Found(holder, changes)
        look = self._accounts.holder if self.is_key(credential) else self._tokens.holder
        holder = await look(credential)
        if holder is not None:
            self._kept.put(digest, changes, holder)
        return Found(holder, changes)

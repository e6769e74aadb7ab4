"""Holders: who holds a credential, an API key or an access token."""

from __future__ import annotations

from typing import NamedTuple

from store.accounts import Accounts, KeyHolder
from store.changes import Changes
from store.tokens import Tokens


class Found(NamedTuple):
    """Who was found behind a credential, and the count of changes before looking."""

    holder: KeyHolder | None
    changes: int | None


class Holders:
    """Looks credentials up; what was found may be kept while `changes` stays the same."""

    def __init__(self, accounts: Accounts, tokens: Tokens, changes: Changes) -> None:
        self._accounts = accounts
        self._tokens = tokens
        self.changes = changes.count

    def is_key(self, credential: str) -> bool:
        """Whether a credential is spelled as an API key."""
        return credential.startswith(self._accounts.key_prefix)

    def has_ended(self, holder: KeyHolder) -> bool:
        """Whether the access token that a holder was found by has ended since."""
        return holder.expires_at is not None and self._tokens.expired(holder)

    async def find(self, credential: str) -> Found:
        """Who holds a credential: None for an unknown, revoked or expired one."""
        changes = self.changes()
        look = self._accounts.holder if self.is_key(credential) else self._tokens.holder
        return Found(await look(credential), changes)

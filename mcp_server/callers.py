"""Caller: who is calling, as far as the handlers need to know. It never holds a token or a key."""

from __future__ import annotations

from typing import Literal, NamedTuple

from store.accounts import KeyHolder, Plan

TRACKED_CAPS = {Plan.PREMIUM_PLUS: 200, Plan.PREMIUM: 50, Plan.NONE: 0}
"""How many tickers each plan may track."""


class Caller(NamedTuple):
    """One caller: anonymous, refused for a bad credential, or the holder of a key."""

    address: str
    """The address that keyless limits count: IPv6 by its /64."""
    holder: KeyHolder | None = None
    refused: Literal["key", "token", "busy"] | None = None
    """What kind of bad credential came with the call, or that it could not be looked up."""
    client: str | None = None
    """The client's own name: X-Service-Client, else the User-Agent."""
    host: str = ""
    """The MCP host's name and version, where it said so."""
    changes: int | None = None
    """The count of changes under which the holder was looked up."""

    def has_access(self, *, beta: bool) -> bool:
        """Whether the account's plan includes the API."""
        if self.holder is None:
            return False
        plan = self.holder.account.plan
        return plan is Plan.PREMIUM_PLUS or (beta and plan is Plan.PREMIUM)

    @property
    def lasts(self) -> bool:
        """Whether only a change can end it: of a key, that may be kept, but not of a token."""
        holder = self.holder
        return holder is not None and holder.expires_at is None and self.changes is not None

    @property
    def account_id(self) -> int:
        """The account of a caller with a credential."""
        if self.holder is None:
            raise LookupError("an anonymous caller has no account")
        return self.holder.account.id

    @property
    def cap(self) -> int:
        """How many tickers the account may track."""
        return TRACKED_CAPS[self.holder.account.plan] if self.holder else 0

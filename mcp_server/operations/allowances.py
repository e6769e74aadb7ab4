"""Allowance: what is left of a caller's quotas, in the words of the IETF draft on rate limits."""

from __future__ import annotations

from typing import NamedTuple


class Allowance(NamedTuple):
    """Every quota that a caller is held to, as it stands after a call."""

    policy: bytes
    """What each window allows: the value of `RateLimit-Policy`."""
    state: bytes
    """What each window has left: the value of `RateLimit`."""

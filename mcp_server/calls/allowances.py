"""Allowance: what is left of a caller's quotas, in the terms of the draft `ratelimit-headers`."""

from __future__ import annotations

from typing import NamedTuple


class Allowance(NamedTuple):
    """The state of a caller's quotas after a call."""

    policy: bytes
    """What each window allows: the value of `RateLimit-Policy`."""
    state: bytes
    """What each window has left: the value of `RateLimit`."""

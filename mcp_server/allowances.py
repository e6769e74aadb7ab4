"""Allowance: what is left of a caller's quotas, as the two fields of the IETF draft say it."""

from __future__ import annotations

from typing import NamedTuple


class Allowance(NamedTuple):
    """Every quota that a caller is held to, as it stands after a call."""

    policy: bytes
    state: bytes

    def headers(self) -> dict[str, str]:
        """The two fields by name."""
        return {"RateLimit-Policy": self.policy.decode(), "RateLimit": self.state.decode()}

    def lines(self) -> bytes:
        """The two fields as they are sent over HTTP."""
        return b"ratelimit-policy: %b\r\nratelimit: %b\r\n" % self

"""Passwords: argon2id at the strength OWASP asks for, off the event loop, a few at a time."""

from __future__ import annotations

import anyio
import anyio.to_thread
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.profiles import RFC_9106_LOW_MEMORY

from store.errors import WeakPasswordError

SHORTEST = 12
LONGEST = 256

NOBODY = (
    "$argon2id$v=19$m=65536,t=3,p=4$2ZafLtQlARI3K0iLv5mckA"
    "$xII/Nrhokm1Ry4+CJR86d/Ccpxl7CkibXGEfgFXdOao"
)
"""Verified in place of the hash of an unknown account: the same work, and it never matches."""

_HASHER = PasswordHasher.from_parameters(RFC_9106_LOW_MEMORY)


class Passwords:
    """Hashes passwords with bounded concurrency, because each hash needs 64 MiB while it runs."""

    def __init__(self, at_once: int = 2) -> None:
        self._slots = anyio.CapacityLimiter(at_once)

    async def hash(self, password: str) -> str:
        """The encoded argon2id hash of a password (RFC 9106)."""
        return await anyio.to_thread.run_sync(_HASHER.hash, password, limiter=self._slots)

    async def verify(self, encoded: str | None, password: str) -> bool:
        """Whether a password matches a hash. Without a hash: False, after the same work."""
        known = encoded or NOBODY
        matches = await anyio.to_thread.run_sync(_matches, known, password, limiter=self._slots)
        return matches and encoded is not None


def check_strength(password: str) -> None:
    """Refuse a password that is too weak.

    Raises:
        WeakPasswordError: it is too short, or longer than a person types.
    """
    if not SHORTEST <= len(password) <= LONGEST:
        raise WeakPasswordError(f"A password must have {SHORTEST} to {LONGEST} characters.")


def _matches(encoded: str, password: str) -> bool:
    try:
        return _HASHER.verify(encoded, password)
    except (VerificationError, InvalidHashError):
        return False

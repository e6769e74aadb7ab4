"""Password hashes: argon2id at the strength OWASP asks for, off the event loop, few at a time."""

from __future__ import annotations

import anyio
import anyio.to_thread
from argon2 import PasswordHasher
from argon2.profiles import RFC_9106_LOW_MEMORY

_HASHER = PasswordHasher.from_parameters(RFC_9106_LOW_MEMORY)


class Passwords:
    """Hashes passwords with bounded concurrency: each hash takes 64 MiB for a moment."""

    def __init__(self, at_once: int = 2) -> None:
        self._slots = anyio.CapacityLimiter(at_once)

    async def hash(self, password: str) -> str:
        """The encoded argon2id hash of a password (RFC 9106)."""
        return await anyio.to_thread.run_sync(_HASHER.hash, password, limiter=self._slots)

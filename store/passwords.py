"""Passwords: argon2id at the strength OWASP asks for, off the event loop, in a bounded queue.

Each hash needs 64 MiB while it runs, so few run at once and few wait. Some places are kept for
browsers in which the account signed in before, and no network takes all of the others. Whoever
finds no place is told so at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

import anyio
import anyio.to_thread
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.profiles import RFC_9106_LOW_MEMORY

from store.errors import PasswordsBusyError, WeakPasswordError

SHORTEST = 12
LONGEST = 256

NOBODY = (
    "$argon2id$v=19$m=65536,t=3,p=4$2ZafLtQlARI3K0iLv5mckA"
    "$xII/Nrhokm1Ry4+CJR86d/Ccpxl7CkibXGEfgFXdOao"
)
"""Verified in place of the hash of an unknown account: the same work, and it never matches."""

_HASHER = PasswordHasher.from_parameters(RFC_9106_LOW_MEMORY)

T = TypeVar("T")


class Queue(NamedTuple):
    """How many hashes run, and how many wait."""

    at_once: int = 2
    waiting: int = 16
    reserved: int = 4
    """Of the places to wait: those for known browsers only."""
    per_network: int = 4
    """Running and waiting from one network; known browsers are counted apart from others."""


class Asker(NamedTuple):
    """For whom a password is hashed."""

    network: str = ""
    """The address that limits count by; empty at the command line, where nobody competes."""
    known: bool = False
    """Whether the account signed in with this browser before."""


QUEUE = Queue()
ALONE = Asker()


class Passwords:
    """Hashes passwords and verifies hashes, each in its turn."""

    def __init__(self, queue: Queue = QUEUE) -> None:
        self._queue = queue
        self._slots = anyio.CapacityLimiter(queue.at_once)
        self._inside: Counter[Asker] = Counter()

    async def hash(self, password: str, asker: Asker = ALONE) -> str:
        """The encoded argon2id hash of a password (RFC 9106).

        Raises:
            PasswordsBusyError: the queue has no place for this asker.
        """
        return await self._run(asker, _HASHER.hash, password)

    async def verify(self, encoded: str | None, password: str, asker: Asker = ALONE) -> bool:
        """Whether a password matches a hash. Without a hash: False, after the same work.

        Raises:
            PasswordsBusyError: the queue has no place for this asker.
        """
        matches = await self._run(asker, _matches, encoded or NOBODY, password)
        return matches and encoded is not None

    async def _run(self, asker: Asker, work: Callable[..., T], *arguments: str) -> T:
        with self._place(asker):
            return await anyio.to_thread.run_sync(work, *arguments, limiter=self._slots)

    @contextmanager
    def _place(self, asker: Asker) -> Iterator[None]:
        places = self._queue.at_once + self._queue.waiting
        if not asker.known:
            places -= self._queue.reserved
        crowded = asker.network and self._inside[asker] >= self._queue.per_network
        if crowded or self._inside.total() >= places:
            raise PasswordsBusyError("Too many passwords are being verified; try again.")
        self._inside[asker] += 1
        try:
            yield
        finally:
            self._inside[asker] -= 1
            if not self._inside[asker]:
                del self._inside[asker]


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

"""Passwords: argon2id at the strength OWASP asks for, off the event loop, in a bounded queue.

Each hash needs 64 MiB while it runs, so few run at once and few wait. Some places are kept for
browsers in which the account signed in before, which go first; no account takes all of these, and
no network all of the others. Whoever finds no place is told so at once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import NamedTuple, TypeVar

import anyio
import anyio.to_thread
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.profiles import RFC_9106_LOW_MEMORY

from store.errors import PasswordsBusyError, WeakPasswordError

MIN_LENGTH = 12
MAX_LENGTH = 256

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
    """Places to wait that only known browsers have."""
    per_network: int = 4
    """Running and waiting from one network; known browsers are counted apart from others."""
    per_account: int = 2
    """Running and waiting for the known browsers of one account, from all networks."""


class Asker(NamedTuple):
    """For whom a password is hashed."""

    network: str = ""
    """The address that limits count by; empty at the command line, where nobody competes."""
    account: str | None = None
    """The account that signed in with this browser before, which makes it a known browser."""


QUEUE = Queue()
ALONE = Asker()


class Passwords:
    """Hashes passwords and verifies hashes, each in its turn."""

    def __init__(self, queue: Queue = QUEUE) -> None:
        self._queue = queue
        self._slots = anyio.CapacityLimiter(queue.at_once)
        # Strangers wait here first, so that a known browser waits behind none that only waits.
        self._strangers = anyio.CapacityLimiter(queue.at_once)
        self._inside = 0
        self._held: Counter[Hashable] = Counter()

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
        async with AsyncExitStack() as stack:
            stack.enter_context(self._place(asker))
            if asker.account is None:
                await stack.enter_async_context(self._strangers)
            return await anyio.to_thread.run_sync(work, *arguments, limiter=self._slots)

    @contextmanager
    def _place(self, asker: Asker) -> Iterator[None]:
        places = self._queue.at_once + self._queue.waiting
        if asker.account is None:
            places -= self._queue.reserved
        shares = self._shares(asker)
        crowded = any(self._held[share] >= most for share, most in shares.items())
        if crowded or self._inside >= places:
            raise PasswordsBusyError("Too many passwords are being verified; try again.")
        self._inside += 1
        self._held.update(shares.keys())
        try:
            yield
        finally:
            self._inside -= 1
            self._held.subtract(shares.keys())
            self._held = +self._held

    def _shares(self, asker: Asker) -> dict[Hashable, int]:
        """What an asker's place is counted for, and how many places each may have."""
        shares = dict[Hashable, int]()
        if asker.network:
            shares[asker.network, asker.account is None] = self._queue.per_network
        if asker.account is not None:
            shares[asker.account] = self._queue.per_account
        return shares


def check_strength(password: str) -> None:
    """Refuse a password that is too weak.

    Raises:
        WeakPasswordError: it is too short, or longer than a person types.
    """
    if not MIN_LENGTH <= len(password) <= MAX_LENGTH:
        raise WeakPasswordError(f"A password must have {MIN_LENGTH} to {MAX_LENGTH} characters.")


def _matches(encoded: str, password: str) -> bool:
    try:
        return _HASHER.verify(encoded, password)
    except (VerificationError, InvalidHashError):
        return False

"""Throttle: how often a password may be guessed, by account and by address.

An attempt is counted before its password is looked at, so that guesses sent at once count too, and
given back when it succeeds. Unknown accounts count like known ones.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable

from limits import RateLimitItem, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter

from store.accounts import hash_secret
from web.refusals import Refusal

WINDOW_MINUTES = 15
PER_ACCOUNT = 20
PER_ADDRESS = 100
SIGN_UPS_PER_ADDRESS = 20

log = logging.getLogger(__name__)


class Throttle:
    """Counts attempts in fixed windows that begin with the first."""

    def __init__(
        self,
        per_account: int = PER_ACCOUNT,
        per_address: int = PER_ADDRESS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._limiter = FixedWindowRateLimiter(MemoryStorage())
        self._account = RateLimitItemPerMinute(per_account, WINDOW_MINUTES)
        self._address = RateLimitItemPerMinute(per_address, WINDOW_MINUTES)
        self._clock = clock

    def count(self, email: str, address: str) -> None:
        """Count an attempt.

        Raises:
            Refusal: 429, there were too many for the account or from the address.
        """
        buckets = self._buckets(email, address)
        for item, bucket in buckets:
            if not self._limiter.test(item, bucket):
                log.warning("Attempts with passwords from %s are refused: too many.", address)
                raise self._refusal(item, bucket)
        for item, bucket in buckets:
            self._limiter.hit(item, bucket)

    def give_back(self, email: str, address: str) -> None:
        """Uncount an attempt that succeeded."""
        for item, bucket in self._buckets(email, address):
            self._limiter.hit(item, bucket, cost=-1)

    def _buckets(self, email: str, address: str) -> list[tuple[RateLimitItem, str]]:
        account = hash_secret(email.strip().lower())
        return [(self._account, f"account:{account}"), (self._address, f"address:{address}")]

    def _refusal(self, item: RateLimitItem, bucket: str) -> Refusal:
        reset = self._limiter.get_window_stats(item, bucket).reset_time
        wait = max(1, math.ceil(reset - self._clock()))
        minutes = math.ceil(wait / 60)
        return Refusal(429, f"Too many attempts. Wait {minutes} min and try again.", wait)

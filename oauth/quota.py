"""Quota: how often a network address may introduce apps, by registering them or by naming them."""

from __future__ import annotations

import math
import time

from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import MovingWindowRateLimiter


class Quota:
    """Counts introductions in a moving minute."""

    def __init__(self, per_minute: int) -> None:
        self._item = RateLimitItemPerMinute(per_minute)
        self._limiter = MovingWindowRateLimiter(MemoryStorage())

    def admits(self, address: str) -> bool:
        """Whether an address may introduce one more app; if so, it is counted."""
        return self._limiter.hit(self._item, address)

    def wait(self, address: str) -> int:
        """Seconds until an address may try again."""
        reset = self._limiter.get_window_stats(self._item, address).reset_time
        return max(1, math.ceil(reset - time.time()))

"""Rate limits: an exact moving minute and the UTC day for keys, a moving minute for addresses.

The `limits` library keeps the counters. A refused call does not count, and both windows are looked
at before either counts.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from limits import RateLimitItem, RateLimitItemPerDay, RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import FixedWindowRateLimiter, MovingWindowRateLimiter

from mcp_server.callers import Caller
from mcp_server.errors import ApiError

DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Quotas:
    """How many calls each window allows."""

    key_per_minute: int = 60
    key_per_day: int = 10_000
    keyless_per_minute: int = 30


class Limiter:
    """Counts calls by key, or by address and surface for those without one."""

    def __init__(self, quotas: Quotas, clock: Callable[[], float] = time.time) -> None:
        storage = MemoryStorage()
        self.quotas = quotas
        self._clock = clock
        self._minutes = MovingWindowRateLimiter(storage)
        self._days = FixedWindowRateLimiter(storage)
        self._key_minute = RateLimitItemPerMinute(quotas.key_per_minute)
        self._key_day = RateLimitItemPerDay(quotas.key_per_day)
        self._keyless_minute = RateLimitItemPerMinute(quotas.keyless_per_minute)

    def count(self, caller: Caller, surface: str) -> None:
        """Count one call.

        Raises:
            ApiError: `rate_limited`, with the seconds to wait.
        """
        if caller.holder is None:
            self._count_keyless(f"{surface}:{caller.address}")
        else:
            self._count_key(caller.holder.key.prefix)

    def _count_keyless(self, bucket: str) -> None:
        if not self._minutes.hit(self._keyless_minute, bucket):
            wait = self._minute_wait(self._keyless_minute, bucket)
            raise _refusal(wait, f"{self.quotas.keyless_per_minute} calls a minute without a key")

    def _count_key(self, key: str) -> None:
        day = dt.datetime.fromtimestamp(self._clock(), dt.UTC).date().isoformat()
        if not self._minutes.test(self._key_minute, key):
            wait = self._minute_wait(self._key_minute, key)
            raise _refusal(wait, f"{self.quotas.key_per_minute} calls a minute with one key")
        if not self._days.test(self._key_day, key, day):
            wait = DAY_SECONDS - self._clock() % DAY_SECONDS
            raise _refusal(wait, f"{self.quotas.key_per_day} calls a UTC day with one key")
        # No await lies between the tests and the hits, so no other call can come between them.
        self._minutes.hit(self._key_minute, key)
        self._days.hit(self._key_day, key, day)

    def _minute_wait(self, item: RateLimitItem, bucket: str) -> float:
        return self._minutes.get_window_stats(item, bucket).reset_time - self._clock()


def _refusal(wait: float, allowance: str) -> ApiError:
    seconds = max(1, math.ceil(wait))
    return ApiError(
        "rate_limited",
        f"More than {allowance}; wait {seconds} s.",
        details={"retry_after_seconds": seconds},
    )


def address_bucket(address: str | None) -> str:
    """What an address counts as: IPv4 itself, IPv6 its /64, since one host owns a whole /64."""
    try:
        parsed = ipaddress.ip_address(address or "")
    except ValueError:
        return "unknown"
    if isinstance(parsed, ipaddress.IPv6Address):
        mapped = parsed.ipv4_mapped
        return str(mapped or ipaddress.ip_network((parsed, 64), strict=False).network_address)
    return str(parsed)

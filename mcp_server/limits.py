"""Rate limits: an exact moving minute and the UTC day for keys, a moving minute for addresses.

The `limits` library keeps the counters. A refused call does not count, and both windows are looked
at before either counts. What is left is told with every answer, in the terms of the IETF draft
`ratelimit-headers`.
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

MINUTE = 60
DAY = 86_400


@dataclass(frozen=True, slots=True)
class Quotas:
    """How many calls each window allows."""

    key_per_minute: int = 60
    key_per_day: int = 10_000
    keyless_per_minute: int = 30


@dataclass(frozen=True, slots=True)
class Window:
    """One quota as it stands after a call."""

    name: str
    quota: int
    seconds: int
    remaining: int
    reset: int
    """Seconds until the oldest call counted leaves the window, or until the day ends."""

    @property
    def policy(self) -> str:
        """The item of the `RateLimit-Policy` field."""
        return f'"{self.name}";q={self.quota};w={self.seconds}'

    @property
    def state(self) -> str:
        """The item of the `RateLimit` field."""
        return f'"{self.name}";r={self.remaining};t={self.reset}'


@dataclass(frozen=True, slots=True)
class Allowance:
    """Every quota that a caller is held to, as it stands."""

    windows: tuple[Window, ...]

    def headers(self) -> dict[str, str]:
        """The two fields of the IETF draft."""
        return {
            "RateLimit-Policy": ", ".join(window.policy for window in self.windows),
            "RateLimit": ", ".join(window.state for window in self.windows),
        }


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

    def count(self, caller: Caller, surface: str) -> Allowance:
        """Count one call; what is left afterwards.

        Raises:
            ApiError: `rate_limited`, with the seconds to wait.
        """
        if caller.holder is None:
            return self._count_keyless(f"{surface}:{caller.address}")
        return self._count_key(caller.holder.key.prefix)

    def _count_keyless(self, bucket: str) -> Allowance:
        counted = self._minutes.hit(self._keyless_minute, bucket)
        allowance = Allowance((self._minute("keyless-minute", self._keyless_minute, bucket),))
        if not counted:
            raise _refusal(allowance, "without a key")
        return allowance

    def _count_key(self, key: str) -> Allowance:
        day = dt.datetime.fromtimestamp(self._clock(), dt.UTC).date().isoformat()
        free = self._minutes.test(self._key_minute, key) and self._days.test(
            self._key_day, key, day
        )
        if free:
            # No await lies between the tests and the hits, so no other call comes between them.
            self._minutes.hit(self._key_minute, key)
            self._days.hit(self._key_day, key, day)
        minute = self._minute("minute", self._key_minute, key)
        allowance = Allowance((minute, self._day(key, day)))
        if not free:
            raise _refusal(allowance, "with one key")
        return allowance

    def _minute(self, name: str, item: RateLimitItem, bucket: str) -> Window:
        stats = self._minutes.get_window_stats(item, bucket)
        # With calls left, or none made yet, the library names no wait of its own.
        reset = min(MINUTE, max(0, math.ceil(stats.reset_time - self._clock())))
        return Window(name, item.amount, MINUTE, stats.remaining, reset)

    def _day(self, key: str, day: str) -> Window:
        stats = self._days.get_window_stats(self._key_day, key, day)
        reset = math.ceil(DAY - self._clock() % DAY)
        return Window("day", self._key_day.amount, DAY, stats.remaining, reset)


def _refusal(allowance: Allowance, whose: str) -> ApiError:
    spent = [window for window in allowance.windows if window.remaining == 0]
    window = max(spent or allowance.windows, key=lambda window: window.reset)
    wait = max(1, window.reset)
    return ApiError(
        "rate_limited",
        f"More than {window.quota} calls in {window.seconds} s {whose}; wait {wait} s.",
        details={"retry_after_seconds": wait},
        allowance=allowance.headers(),
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

"""Rate limits: an exact moving minute and the UTC day for keys, a moving minute for addresses.

A refused call does not count: both windows are checked before either counts it. The response states
what is left, in the terms of the IETF draft `ratelimit-headers`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mcp_server.operations.allowances import Allowance
from mcp_server.operations.callers import Caller
from mcp_server.operations.counters import SECONDS_A_DAY, Counters, Hit
from mcp_server.operations.errors import ApiError

MINUTE = 60


@dataclass(frozen=True, slots=True)
class Quotas:
    """How many calls each window allows."""

    key_per_minute: int = 60
    key_per_day: int = 10_000
    keyless_per_minute: int = 30


class Limiter:
    """Counts calls by key; a call without a key is counted by address and surface.

    With a folder, the counts are kept in files there, so that several processes share them.

    Raises:
        CountersError: the folder cannot hold exact counts.
    """

    def __init__(
        self,
        quotas: Quotas,
        clock: Callable[[], float] = time.time,
        folder: Path | None = None,
    ) -> None:
        self.quotas = quotas
        self._clock = clock
        self._keys = Counters(
            quotas.key_per_minute, MINUTE, quotas.key_per_day, folder and folder / "keys"
        )
        self._addresses = Counters(
            quotas.keyless_per_minute, MINUTE, file=folder and folder / "addresses"
        )
        windows = (quotas.key_per_minute, MINUTE, quotas.key_per_day, SECONDS_A_DAY)
        self._key_policy = b'"minute";q=%d;w=%d, "day";q=%d;w=%d' % windows
        keyless = (quotas.keyless_per_minute, MINUTE)
        self._keyless_policy = b'"keyless-minute";q=%d;w=%d' % keyless

    def count(self, caller: Caller, surface: str) -> Allowance:
        """Count one call; returns what is left afterwards.

        Raises:
            ApiError: `rate_limited`, with the seconds to wait.
        """
        if caller.principal is None:
            return self._count_keyless(f"{surface}:{caller.network}")
        now = self._clock()
        hit = self._keys.hit(caller.principal.key.prefix, now)
        reset, midnight = math.ceil(hit.reset), SECONDS_A_DAY - int(now % SECONDS_A_DAY)
        state = (hit.left, reset, max(0, self.quotas.key_per_day - hit.today), midnight)
        allowance = Allowance(self._key_policy, b'"minute";r=%d;t=%d, "day";r=%d;t=%d' % state)
        if not hit.counted:
            raise self._key_refusal(hit, reset, midnight, allowance)
        return allowance

    def _count_keyless(self, bucket: str) -> Allowance:
        hit = self._addresses.hit(bucket, self._clock())
        reset = math.ceil(hit.reset)
        state = b'"keyless-minute";r=%d;t=%d' % (hit.left, reset)
        allowance = Allowance(self._keyless_policy, state)
        if not hit.counted:
            raise _refusal(
                self.quotas.keyless_per_minute, MINUTE, reset, "without a key", allowance
            )
        return allowance

    def _key_refusal(self, hit: Hit, reset: int, midnight: int, allowance: Allowance) -> ApiError:
        minute, day = self.quotas.key_per_minute, self.quotas.key_per_day
        if hit.today >= day and (hit.left or midnight > reset):
            return _refusal(day, SECONDS_A_DAY, midnight, "with one key", allowance)
        return _refusal(minute, MINUTE, reset, "with one key", allowance)


def _refusal(quota: int, seconds: int, wait: int, whose: str, allowance: Allowance) -> ApiError:
    wait = max(1, wait)
    return ApiError(
        "rate_limited",
        f"More than {quota} calls in {seconds} s {whose}; wait {wait} s.",
        tool_fix=f"Wait {wait} s, retry once, then back off.",
        details={"retry_after_seconds": wait},
        allowance=allowance,
    )

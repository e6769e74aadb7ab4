"""Rate limits: a moving minute and the UTC day for keys and accounts, a minute for addresses.

A key has its quota, and its account has a larger one for all its keys and apps together. A refused
call does not count: all windows are checked before one counts it. The response states what is left,
in the terms of the IETF draft `ratelimit-headers`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mcp_server.operations.allowances import Allowance
from mcp_server.operations.callers import Caller
from mcp_server.operations.counters import (
    SECONDS_A_DAY,
    Counters,
    CountersFullError,
    Hit,
    Moment,
    moment,
)
from mcp_server.operations.errors import ApiError, busy
from store.keys import Principal
from telemetry.metrics import limits_hit

MINUTE = 60

Other = Literal["list", "refused"]
"""What is not a call: the handshake, lists and notifications of MCP; a request that is refused for
its credential or for having none."""


@dataclass(frozen=True, slots=True)
class Quotas:
    """How many calls each window allows."""

    key_per_minute: int = 60
    key_per_day: int = 10_000
    keyless_per_minute: int = 30
    account_multiple: int = 3
    """How many keys' worth of calls an account has."""
    other_per_minute: int = 300
    """Requests of each kind that are not calls: lists, refused ones and pages."""

    @property
    def pictures_per_minute(self) -> int:
        """Pictures of pages; one page may show fifty, which browsers then keep."""
        return 4 * self.other_per_minute

    @property
    def account_per_minute(self) -> int:
        """Calls a minute of an account."""
        return self.account_multiple * self.key_per_minute

    @property
    def account_per_day(self) -> int:
        """Calls a UTC day of an account."""
        return self.account_multiple * self.key_per_day


class Limiter:
    """Counts calls by key and account; a call without a key is counted by address and surface.

    With a folder, the counts are kept in files there, so that several processes share them.

    Raises:
        CountersError: the folder cannot hold exact counts.
    """

    def __init__(
        self,
        quotas: Quotas,
        clock: Callable[[], Moment] = moment,
        folder: Path | None = None,
    ) -> None:
        self.quotas = quotas
        self._clock = clock

        def counters(name: str, per_minute: int, per_day: int | None = None) -> Counters:
            return Counters(per_minute, MINUTE, per_day, folder and folder / name)

        self._keys = counters("keys", quotas.key_per_minute, quotas.key_per_day)
        self._accounts = counters("accounts", quotas.account_per_minute, quotas.account_per_day)
        self._addresses = counters("addresses", quotas.keyless_per_minute)
        self._others = counters("others", quotas.other_per_minute)
        self._pictures = counters("pictures", quotas.pictures_per_minute)
        windows = (quotas.key_per_minute, MINUTE, quotas.key_per_day, SECONDS_A_DAY)
        self._key_policy = b'"minute";q=%d;w=%d, "day";q=%d;w=%d' % windows
        self._refused_at = -math.inf
        keyless = (quotas.keyless_per_minute, MINUTE)
        self._keyless_policy = b'"keyless-minute";q=%d;w=%d' % keyless

    @property
    def is_full(self) -> bool:
        """Whether a key was refused within a minute because no room is left to count its calls."""
        return self._clock().monotonic - self._refused_at < MINUTE

    def is_shared(self) -> bool:
        """Whether processes that start now would count together with this one."""
        kinds = (self._keys, self._accounts, self._addresses, self._others, self._pictures)
        return all(counters.is_shared() for counters in kinds)

    def resume(self, calls: Iterable[tuple[int, str, int]]) -> None:
        """Take over the calls of today that earlier processes admitted: account, prefix, calls."""
        at, whole = self._clock(), Counter[int]()
        with suppress(CountersFullError):
            for account_id, prefix, number in calls:
                whole[account_id] += number
                self._keys.resume(prefix, number, at)
            for account_id, number in whole.items():
                self._accounts.resume(str(account_id), number, at)

    def count(self, caller: Caller, surface: str) -> Allowance:
        """Count one call; returns what is left afterwards.

        Raises:
            ApiError: `rate_limited`, with the seconds to wait; `unavailable`.
        """
        if caller.principal is None:
            return self._count_keyless(f"{surface}:{caller.network}")
        try:
            return self._count_keyed(caller.principal)
        except CountersFullError as error:
            self._refused_at = self._clock().monotonic
            raise busy(MINUTE) from error

    def count_other(self, caller: Caller, kind: Other) -> None:
        """Count a request that is not a call, for its account or else for its address.

        Raises:
            ApiError: `rate_limited`, with the seconds to wait.
        """
        principal = caller.principal
        whose = f"account {principal.account.id}" if principal else f"address {caller.network}"
        self._count_other(kind, whose, "of one account" if principal else "from one address")

    def count_page(self, network: str, session: str | None) -> None:
        """Count a page, for the session of who is signed in or else for the address.

        Raises:
            ApiError: `rate_limited`, with the seconds to wait.
        """
        self._count_other("page", _visitor(network, session), "for pages")

    def count_picture(self, network: str, session: str | None) -> None:
        """Count a picture or the data of a page, for whom its page is counted.

        Raises:
            ApiError: `rate_limited`, with the seconds to wait.
        """
        hit = self._pictures.hit(_visitor(network, session), self._clock())
        if not hit.counted:
            quota = self.quotas.pictures_per_minute
            raise _refusal("pictures", quota, MINUTE, hit.wait, "for pages", what="pictures")

    def _count_other(self, kind: str, who: str, whose: str) -> None:
        hit = self._others.hit(f"{kind} {who}", self._clock())
        if not hit.counted:
            quota = self.quotas.other_per_minute
            raise _refusal(kind, quota, MINUTE, hit.wait, whose, what="requests")

    def _count_keyed(self, principal: Principal) -> Allowance:
        at, quotas = self._clock(), self.quotas
        prefix, account = principal.key.prefix, str(principal.account.id)
        key = self._keys.hit(prefix, at)
        midnight = SECONDS_A_DAY - int(at.utc) % SECONDS_A_DAY
        if not key.counted:
            left = self._allowance(key, quotas.key_per_day - key.today, midnight)
            windows = (quotas.key_per_minute, quotas.key_per_day, midnight)
            raise _fuller_window("key", key, *windows, "with one key", left)
        try:
            whole = self._accounts.hit(account, at)
        except CountersFullError:
            self._keys.take_back(prefix, at)
            raise
        today = min(quotas.key_per_day - key.today, quotas.account_per_day - whole.today)
        left = self._allowance(key if key.left <= whole.left else whole, today, midnight)
        if not whole.counted:
            self._keys.take_back(prefix, at)
            windows = (quotas.account_per_minute, quotas.account_per_day, midnight)
            raise _fuller_window("account", whole, *windows, "with all keys of one account", left)
        return left

    def _allowance(self, minute: Hit, today: int, midnight: int) -> Allowance:
        state = (minute.left, math.ceil(minute.reset), max(0, today), midnight)
        return Allowance(self._key_policy, b'"minute";r=%d;t=%d, "day";r=%d;t=%d' % state)

    def _count_keyless(self, bucket: str) -> Allowance:
        hit = self._addresses.hit(bucket, self._clock())
        reset = math.ceil(hit.reset)
        state = b'"keyless-minute";r=%d;t=%d' % (hit.left, reset)
        allowance = Allowance(self._keyless_policy, state)
        if not hit.counted:
            quota = self.quotas.keyless_per_minute
            raise _refusal("address_minute", quota, MINUTE, reset, "without a key", allowance)
        return allowance


def _visitor(network: str, session: str | None) -> str:
    return f"address {network}" if session is None else f"session {session}"


def _fuller_window(
    limit: str,
    hit: Hit,
    per_minute: int,
    per_day: int,
    midnight: int,
    whose: str,
    allowance: Allowance,
) -> ApiError:
    """The refusal by the window that is full; if both are, by the one with the longer wait."""
    reset = math.ceil(hit.reset)
    if hit.today >= per_day and (hit.left or midnight > reset):
        return _refusal(f"{limit}_day", per_day, SECONDS_A_DAY, midnight, whose, allowance)
    return _refusal(f"{limit}_minute", per_minute, MINUTE, reset, whose, allowance)


def _refusal(
    limit: str,
    quota: int,
    seconds: int,
    wait: int,
    whose: str,
    allowance: Allowance | None = None,
    what: str = "calls",
) -> ApiError:
    limits_hit.labels(limit).inc()
    wait = max(1, wait)
    return ApiError(
        "rate_limited",
        f"More than {quota} {what} in {seconds} s {whose}; wait {wait} s.",
        tool_fix=f"Wait {wait} s, retry once, then back off.",
        details={"retry_after_seconds": wait},
        allowance=allowance,
    )

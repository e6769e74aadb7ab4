"""Rate limits: a moving minute and the UTC day for keys and accounts, a minute for addresses.

A key has its quota, and its account has a larger one for all its keys and apps together. A refused
call does not count: all windows are checked before one counts it. The response states what is left,
in the terms of the IETF draft `ratelimit-headers`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from mcp_server.calls.callers import Allowance, Caller, site_of
from mcp_server.calls.errors import ApiError, busy
from mcp_server.limits.counting import (
    SECONDS_A_DAY,
    Asked,
    Counting,
    Hit,
    Hits,
    RateWindow,
    UncountedError,
)
from mcp_server.limits.local_counting import LocalCounting
from screener.telemetry.metrics import limits_hit

MINUTE = 60

SITE = 8
"""How many times the quota of an address a whole /48 of IPv6 has, of which many hold 256 or more
networks (RFC 6177)."""

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
    apps_per_minute: int = 60
    """Apps that one address may introduce, by registration or by client document."""

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

    Raises:
        CountersError: this machine cannot hold exact counts.
    """

    def __init__(self, quotas: Quotas, counting: Counting | None = None) -> None:
        self.quotas = quotas
        self.counting = LocalCounting() if counting is None else counting
        """What counts; in the memory of this process by default."""

        def window(name: str, per_minute: int, per_day: int | None = None) -> RateWindow:
            return self.counting.open(RateWindow(name, per_minute, MINUTE, per_day))

        self._keys = window("keys", quotas.key_per_minute, quotas.key_per_day)
        self._accounts = window("accounts", quotas.account_per_minute, quotas.account_per_day)
        self._addresses = window("addresses", quotas.keyless_per_minute)
        self._others = window("others", quotas.other_per_minute)
        self._sites = {
            each: window(f"{each.name}-of-sites", SITE * each.size)
            for each in (self._addresses, self._others)
        }
        self._pictures = window("pictures", quotas.pictures_per_minute)
        self._apps = window("apps", quotas.apps_per_minute)
        self._per_day = quotas.key_per_day, quotas.account_per_day
        windows = (quotas.key_per_minute, MINUTE, quotas.key_per_day, SECONDS_A_DAY)
        self._key_policy = b'"minute";q=%d;w=%d, "day";q=%d;w=%d' % windows
        keyless = (quotas.keyless_per_minute, MINUTE)
        self._keyless_policy = b'"keyless-minute";q=%d;w=%d' % keyless

    async def resume(self, calls: Iterable[tuple[int, str, int]]) -> None:
        """Take over the calls of today that were admitted before: account, prefix, calls."""
        whole, resumed = Counter[int](), []
        for account_id, prefix, number in calls:
            whole[account_id] += number
            resumed.append((self._keys, prefix, number))
        resumed += [(self._accounts, str(account), number) for account, number in whole.items()]
        await self.counting.resume(resumed)

    async def count(self, caller: Caller, surface: str) -> Allowance:
        """Count one call; returns what is left afterwards.

        Raises:
            ApiError: `rate_limited`, with the seconds to wait; `unavailable`.
        """
        principal = caller.principal
        if principal is None:
            return await self._count_keyless(surface, caller.network)
        prefix, account = principal.key.prefix, str(principal.account.id)
        hits = await self._hit((self._keys, prefix), (self._accounts, account))
        key, whole = hits.each
        minute = key if key.left <= whole.left else whole
        per_key, per_account = self._per_day
        today = max(0, min(per_key - key.today, per_account - whole.today))
        state = (minute.left, math.ceil(minute.reset), today, hits.midnight)
        left = Allowance(self._key_policy, b'"minute";r=%d;t=%d, "day";r=%d;t=%d' % state)
        if not hits.counted:
            raise self._refusal_of_key(key, whole, hits.midnight, left)
        return left

    async def count_other(self, caller: Caller, kind: Other) -> None:
        """Count a request that is not a call, for its account or else for its address.

        Raises:
            ApiError: `rate_limited`, with the seconds to wait; `unavailable`.
        """
        principal, network = caller.principal, caller.network
        if principal is not None:
            asked = [(self._others, f"{kind} account {principal.account.id}")]
        else:
            asked = self._near(self._others, f"{kind} address {network}", kind, network)
        whose = "from one address" if principal is None else "of one account"
        await self._count_other(asked, kind, whose)

    async def count_page(self, network: str, session: str | None) -> None:
        """Count a page, for the session of who is signed in or else for the address.

        Raises:
            ApiError: `rate_limited`, with the seconds to wait; `unavailable`.
        """
        visitor = f"page {_visitor(network, session)}"
        asked = self._near(self._others, visitor, "page", "" if session else network)
        await self._count_other(asked, "page", "for pages")

    async def count_picture(self, network: str, session: str | None) -> None:
        """Count a picture or the data of a page, for whom its page is counted.

        Raises:
            ApiError: `rate_limited`, with the seconds to wait; `unavailable`.
        """
        asked = [(self._pictures, _visitor(network, session))]
        await self._count_other(asked, "pictures", "for pages", what="pictures")

    async def count_app(self, network: str) -> None:
        """Count an app that an address introduces.

        Raises:
            ApiError: `rate_limited`, with the seconds to wait; `unavailable`.
        """
        await self._count_other([(self._apps, network)], "apps", "from one address", what="apps")

    async def _count_other(
        self, asked: list[Asked], limit: str, whose: str, what: str = "requests"
    ) -> None:
        hits = await self._hit(*asked)
        if not hits.counted:
            quota = hits.full(asked).size
            raise _refusal(limit, quota, MINUTE, hits.wait, whose, what=what)

    def _refusal_of_key(self, key: Hit, whole: Hit, midnight: int, left: Allowance) -> ApiError:
        """The refusal by the window that is full; if both are, by the one with the longer wait."""
        if not key.fits:
            limit, hit, whose = "key", key, "with one key"
            per_minute, per_day = self._keys.size, self._per_day[0]
        else:
            limit, hit, whose = "account", whole, "with all keys of one account"
            per_minute, per_day = self._accounts.size, self._per_day[1]
        reset = math.ceil(hit.reset)
        if hit.today >= per_day and (hit.left or midnight > reset):
            return _refusal(f"{limit}_day", per_day, SECONDS_A_DAY, midnight, whose, left)
        return _refusal(f"{limit}_minute", per_minute, MINUTE, reset, whose, left)

    async def _count_keyless(self, surface: str, network: str) -> Allowance:
        near = self._near(self._addresses, f"{surface}:{network}", surface, network)
        hits = await self._hit(*near)
        hit = min(hits.each, key=lambda each: each.left)
        reset = math.ceil(hit.reset)
        state = b'"keyless-minute";r=%d;t=%d' % (hit.left, reset)
        allowance = Allowance(self._keyless_policy, state)
        if not hits.counted:
            quota = hits.full(near).size
            raise _refusal("address_minute", quota, MINUTE, reset, "without a key", allowance)
        return allowance

    def _near(self, window: RateWindow, who: str, kind: str, network: str) -> list[Asked]:
        """The bucket of somebody without a key and, of IPv6, that of the /48 around them."""
        site = site_of(network)
        return [(window, who), *([(self._sites[window], f"{kind} {site}")] if site else [])]

    async def _hit(self, *asked: Asked) -> Hits:
        try:
            return await self.counting.hit(*asked)
        except UncountedError as error:
            raise busy(error.wait) from error


def _visitor(network: str, session: str | None) -> str:
    return f"address {network}" if session is None else f"session {session}"


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

"""Usage: today's calls of an account, compared with its limits."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from starlette.responses import Response

from store.accounts.accounts import Account
from store.accounts.grants import Grant
from store.accounts.keys import Key
from web.pages import Pages
from web.site import Site
from web.visit import Visit

MOST_OPERATIONS = 100
"""Most lines of the table, since a client may state another name with every call."""


@dataclass(frozen=True, slots=True)
class CallsToday:
    """How many calls a key or an app has used today."""

    prefix: str
    name: str
    calls: int


class Usage:
    """The usage page."""

    def __init__(self, site: Site, pages: Pages) -> None:
        self._site = site
        self._pages = pages

    async def show(self, visit: Visit, account: Account) -> Response:
        """Today's calls by key, and by operation."""
        today = self._site.clock().date()
        log = self._site.services.usage
        return self._pages.respond(
            "usage.html",
            visit,
            today=today,
            quotas=self._site.services.limiter.quotas,
            calls_today=await self._calls_today(account, today),
            operations=await log.calls_by_operation(account.id, today, MOST_OPERATIONS),
        )

    async def _calls_today(self, account: Account, today: dt.date) -> list[CallsToday]:
        calls = await self._site.services.usage.calls_by_key(account.id, today)
        keys, now = await self._site.keys.unrevoked(account.id, calls), self._site.clock()
        held: list[Key | Grant] = [key for key in keys if key.is_live(now) or key.prefix in calls]
        held += await self._site.grants.unrevoked(account.id, calls)
        return [CallsToday(one.prefix, one.name, calls.get(one.prefix, 0)) for one in held]

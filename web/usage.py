"""Usage: today's calls of an account, held against its limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from starlette.responses import Response

from store.accounts import Account, Key
from store.grants import Grant
from store.usage import Entry
from web.door import Visit
from web.pages import Pages
from web.site import Site


@dataclass(frozen=True, slots=True)
class Spending:
    """How much of its day a key or an app has used."""

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
        entries = await self._site.services.usage.entries(account.id)
        todays = [entry for entry in entries if entry.line.day == today]
        return self._pages.answer(
            "usage.html",
            visit,
            today=today,
            quotas=self._site.services.limiter.quotas,
            spendings=await self._spendings(account, todays),
            operations=calls_by_operation(todays),
        )

    async def _spendings(self, account: Account, entries: Iterable[Entry]) -> list[Spending]:
        calls: Counter[str] = Counter()
        for entry in entries:
            calls[entry.line.key_prefix] += entry.calls
        keys = await self._site.accounts.keys(account.email)
        held: list[Key | Grant] = [*keys, *await self._site.grants.of_account(account.id)]
        return [
            Spending(one.prefix, one.name, calls[one.prefix])
            for one in held
            if one.revoked_at is None or calls[one.prefix]
        ]


def calls_by_operation(entries: Iterable[Entry]) -> list[tuple[str, str, int]]:
    """Operation, client and calls, most calls first."""
    calls: Counter[tuple[str, str]] = Counter()
    for entry in entries:
        calls[entry.line.operation, entry.line.host or entry.line.client] += entry.calls
    return [(operation, client, count) for (operation, client), count in calls.most_common()]

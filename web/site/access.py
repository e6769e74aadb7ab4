"""Access: what of a night a visitor may see on pages.

The scan is for everybody with a plan. Charts, history and records of a ticker are for those who
track it, and of the demo symbols for everybody. The operator of a private machine may open
all of it to those who call it by its own name or number: a page of a stranger, whose name leads a
browser here (DNS rebinding), must not read it. What a proxy forwards may come from anywhere, so it
is not open where no proxy is trusted.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from mcp_server.calls.callers import PLANS_WITH_ACCESS
from web.site.site import Site
from web.site.visit import Visit

NO_PLAN = "Your plan does not include the scan."
FORWARDED = frozenset({"forwarded", "via", "x-real-ip"})


class Access:
    """Says what a visitor may see."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._offer = site.services.offer

    def scan(self, visit: Visit) -> bool:
        """Whether the visitor may see the scan."""
        if self.is_open(visit):
            return True
        return (
            visit.account is not None and visit.account.plan in PLANS_WITH_ACCESS[self._offer.beta]
        )

    def everybody(self, symbol: str) -> bool:
        """Whether a ticker's charts, history and records are for everybody, wherever they are."""
        return symbol in self._offer.demo_symbols

    async def ticker(self, visit: Visit, symbol: str) -> bool:
        """Whether the visitor may see a ticker's charts, history and records."""
        return self.sees(visit, symbol, ()) or self.sees(visit, symbol, await self.tracked(visit))

    def sees(self, visit: Visit, symbol: str, tracked: Container[str]) -> bool:
        """The same of a visitor who tracks these tickers."""
        if self.is_open(visit) or self.everybody(symbol):
            return True
        return visit.account is not None and self.scan(visit) and symbol in tracked

    async def tracked(self, visit: Visit) -> Sequence[str]:
        """The tickers that the visitor tracks; none without an account."""
        if visit.account is None:
            return ()
        return await self._site.services.watchlist.symbols(visit.account.id)

    def is_open(self, visit: Visit) -> bool:
        """Whether the pages are open to this visitor, whoever it is."""
        if not self._site.open_pages:
            return False
        headers = visit.request.headers
        if not self._site.behind_proxy and is_forwarded(headers):
            return False
        return self._site.origins.is_harmless(headers.get("host", "").encode("latin-1"))


def is_forwarded(names: Iterable[str]) -> bool:
    """Whether fields of these names, in lower case, say that a proxy sent a request on (RFC 7239,
    RFC 9110 section 7.6.3, and those that proxies used before)."""
    return any(name in FORWARDED or name.startswith("x-forwarded-") for name in names)

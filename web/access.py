"""Access: what of a night a visitor may see on pages.

The scan is for everybody with a plan. Charts, history and records of a ticker are for those who
track it, and of the demo symbols for everybody. The operator of a private machine may open
all of it.
"""

from __future__ import annotations

from mcp_server.operations.callers import PLANS_WITH_ACCESS
from web.site import Site
from web.visit import Visit


class Access:
    """Says what a visitor may see."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._offer = site.services.offer

    def scan(self, visit: Visit) -> bool:
        """Whether the visitor may see the scan."""
        if self._site.open_pages:
            return True
        return (
            visit.account is not None and visit.account.plan in PLANS_WITH_ACCESS[self._offer.beta]
        )

    def everybody(self, symbol: str) -> bool:
        """Whether everybody may see a ticker's charts, history and records."""
        return self._site.open_pages or symbol in self._offer.demo_symbols

    async def ticker(self, visit: Visit, symbol: str) -> bool:
        """Whether the visitor may see a ticker's charts, history and records."""
        if self.everybody(symbol):
            return True
        if visit.account is None or not self.scan(visit):
            return False
        return symbol in await self._site.services.watchlist.symbols(visit.account.id)

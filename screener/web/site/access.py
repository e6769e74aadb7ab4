"""Access: what of a night a visitor may see on pages.

The scan is for everybody with a plan. Charts, history and records of a ticker are for those who
track it, and of the demo symbols for everybody. The operator of a private machine may open
all of it to those who call it by its own name or number: a page of a stranger, whose name leads a
browser here (DNS rebinding), must not read it. What a proxy forwards may come from anywhere, so it
is not open where no proxy is trusted.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

from mcp_server.calls.callers import PLANS_WITH_ACCESS
from screener.web.site.site import Site
from screener.web.site.visit import Visit

NO_PLAN = "Your plan does not include the scan."
FORWARDED = frozenset({"forwarded", "via", "x-real-ip"})
"""With `x-forwarded-*`, what says that a proxy sent a request on (RFC 7239, RFC 9110 section 7.6.3,
and the fields that proxies used before)."""


def is_open(visit: Visit, site: Site) -> bool:
    """Whether the pages are open to this visitor, whoever it is."""
    if not site.open_pages:
        return False
    headers = visit.request.headers
    forwarded = any(name in FORWARDED or name.startswith("x-forwarded-") for name in headers)
    if forwarded and not site.behind_proxy:
        return False
    return site.origins.is_harmless(headers.get("host", "").encode("latin-1"))


def sees_scan(visit: Visit, site: Site) -> bool:
    """Whether the visitor may see the scan."""
    plans = PLANS_WITH_ACCESS[site.services.offer.beta]
    has_plan = visit.account is not None and visit.account.plan in plans
    return has_plan or is_open(visit, site)


def is_demo(symbol: str, site: Site) -> bool:
    """Whether a ticker's charts, history and records are for everybody, wherever they are."""
    return symbol in site.services.offer.demo_symbols


def sees_ticker(visit: Visit, site: Site, symbol: str, tracked: Container[str]) -> bool:
    """Whether a visitor who tracks some tickers may see a ticker's charts, history and records."""
    if is_demo(symbol, site) or is_open(visit, site):
        return True
    return symbol in tracked and sees_scan(visit, site)


async def tracked_by(visit: Visit, site: Site) -> Sequence[str]:
    """The tickers that the visitor tracks; none without an account."""
    if visit.account is None:
        return ()
    return await site.services.watchlist.symbols(visit.account.id)

"""Access: what of a night a visitor may see on pages.

`mcp_server.operations.access` decides it. Beside that, the operator of a private machine may open
all of it to those who call it by its own name or number: a page of a stranger, whose name leads a
browser here (DNS rebinding), must not read it. What a proxy forwards may come from anywhere, so it
is not open where no proxy is trusted.
"""

from __future__ import annotations

from collections.abc import Container

from mcp_server.operations import access
from screener.web.site.services import WebServices
from screener.web.site.visit import Visit

NO_PLAN = "Your plan does not include the scan."
FORWARDED = frozenset({"forwarded", "via", "x-real-ip"})
"""With `x-forwarded-*`, what says that a proxy sent a request on (RFC 7239, RFC 9110 section 7.6.3,
and the fields that proxies used before)."""


def is_open(visit: Visit, web: WebServices) -> bool:
    """Whether the pages are open to this visitor, whoever it is."""
    if not web.open_pages:
        return False
    headers = visit.request.headers
    forwarded = any(name in FORWARDED or name.startswith("x-forwarded-") for name in headers)
    if forwarded and not web.behind_proxy:
        return False
    return web.origins.is_harmless(headers.get("host", "").encode("latin-1"))


def sees_scan(visit: Visit, web: WebServices) -> bool:
    """Whether the visitor may see the scan."""
    return access.sees_scan(visit.account, web.services.offer) or is_open(visit, web)


def sees_ticker(visit: Visit, web: WebServices, symbol: str, tracked: Container[str]) -> bool:
    """Whether a visitor who tracks some tickers may see a ticker's charts, history and records."""
    offer = web.services.offer
    return (
        access.is_demo(symbol, offer)
        or access.sees_ticker(symbol, visit.account, tracked, offer)
        or is_open(visit, web)
    )

"""The method page: what is measured, how it is measured, and the results of the active night."""

from __future__ import annotations

from starlette.requests import Request

from mcp_server.http.responses import PUBLIC, HttpResponse
from screener.web.market.figures import error_bars
from screener.web.site.pages import Context
from screener.web.site.services import WebServices
from store.wire.method import Measure, Method

PATH = "/method"


async def show(request: Request, web: WebServices) -> HttpResponse:
    """The page of the active night, the same for everybody."""
    with web.services.active_night.pin() as book:
        night = web.pages.status(book)
        return web.pages.public(
            "method.html", request, PUBLIC, lambda: context_of(book.method()), night=night
        )


def context_of(method: Method | None) -> Context:
    """What the page shows of a record."""
    named = [(name_of(measure), measure) for measure in method.by_family()] if method else []
    return {
        "method": method,
        "picture": error_bars(named),
        "named": named,
        "name": name_of,
    }


def name_of(measure: Measure) -> str:
    """The name of a group: `Triangle, bullish`, `Rising wedge`, `All`."""
    if measure.family is None:
        return "All"
    if measure.direction is None or not measure.family.both_ways:
        return measure.family.label
    return f"{measure.family.label}, {measure.direction}"

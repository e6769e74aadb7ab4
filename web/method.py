"""The method page: what is measured, how it is measured, and the results of the active night."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request

from mcp_server.http.responses import PUBLIC, HttpResponse
from store.nights.book import Book
from store.wire.method import FEW_HALF_YEARS, Measure, Method
from store.wire.words import FEW
from web.night_head import NightHead
from web.pages import Context, Pages
from web.site import Site
from web.whiskers import Picture, whiskers

PATH = "/method"


class MethodPage:
    """The page, the same for everybody."""

    def __init__(self, site: Site, pages: Pages) -> None:
        self._site = site
        self._pages = pages

    async def respond(self, request: Request) -> HttpResponse:
        """The page of the active night."""
        with self._site.services.active_night.pin() as book:
            night, make = NightHead.of(self._site, book), partial(_shown, book)
            return self._pages.public("method.html", request, PUBLIC, make, night=night)


def _shown(book: Book) -> Context:
    method = book.method()
    return {
        "method": method,
        "picture": picture(method) if method else None,
        "named": named(method) if method else [],
        "name": name_of,
        "few": FEW,
        "few_half_years": FEW_HALF_YEARS,
    }


def name_of(measure: Measure) -> str:
    """The name of a group: `Triangle, bullish`, `Rising wedge`, `All`."""
    if measure.family is None:
        return "All"
    if measure.direction is None or not measure.family.both_ways:
        return measure.family.label
    return f"{measure.family.label}, {measure.direction}"


def named(method: Method) -> list[tuple[str, Measure]]:
    """The measures of the picture, each with its name."""
    return [(name_of(measure), measure) for measure in method.by_family()]


def picture(method: Method) -> Picture | None:
    """A picture of all differences with an error and enough trades; None if there is none."""
    return whiskers(named(method))

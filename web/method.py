"""The method page: what is measured, how it is measured, and the results of the active night."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable

from starlette.requests import Request

from mcp_server.http.responses import PUBLIC, HttpResponse
from store.active_night import ActiveNight
from store.book import Book
from store.method import FEW, FEW_HALF_YEARS, Measure, Method
from web.pages import Pages, PublicPage, public_page
from web.standing import Standing
from web.whiskers import Picture, whiskers

PATH = "/method"


class MethodPage:
    """One page for each night and its standing, the same for everybody."""

    def __init__(
        self, pages: Pages, active_night: ActiveNight, clock: Callable[[], dt.datetime]
    ) -> None:
        self._pages = pages
        self._active_night = active_night
        self._clock = clock
        self._made_for: tuple[str | None, Standing] | None = None
        self._page: PublicPage | None = None

    async def respond(self, request: Request) -> HttpResponse:
        """The page of the active night."""
        with self._active_night.pin() as book:
            standing = Standing.of(book, self._active_night, self._clock().date())
            wanted = book.data_version, standing
            if self._page is None or wanted != self._made_for:
                self._page, self._made_for = self._made(book, standing), wanted
        return public_page(request, self._page, PUBLIC)

    def _made(self, book: Book, standing: Standing) -> PublicPage:
        method = book.method()
        return self._pages.public(
            "method",
            PATH,
            method=method,
            picture=picture(method) if method else None,
            named=named(method) if method else [],
            name=name_of,
            disclaimer=book.disclaimer,
            session=book.session,
            standing=standing,
            few=FEW,
            few_half_years=FEW_HALF_YEARS,
        )


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

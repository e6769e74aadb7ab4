"""The method page: what is measured, how it is measured, and the results of the active night."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass

from starlette.requests import Request

from mcp_server.http.responses import PUBLIC, HttpResponse
from mcp_server.operations.answers import Answer
from store.active_night import ActiveNight
from store.book import Book
from store.method import FEW, FEW_HALF_YEARS, Measure, Method
from web.pages import HTML, Pages, public_page
from web.standing import Standing

PATH = "/method"

WIDTH, ROW, TOP, LEFT, RIGHT = 720, 34, 20, 190, 20
"""Pixels: the width of the picture, the height of a row, and the margins around the scale."""


@dataclass(frozen=True, slots=True)
class Dot:
    """One group in the picture: its difference from random entries, and two errors either side."""

    name: str
    y: float
    x: float
    low: float
    high: float
    clear: bool
    """Whether it differs from random entries after correction for all lines."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A dot with whiskers for each group on one scale of R."""

    dots: list[Dot]
    zero: float
    ticks: list[tuple[float, str]]
    width: int
    height: float


class MethodPage:
    """One page for each night and its standing, the same for everybody."""

    def __init__(
        self, pages: Pages, active_night: ActiveNight, clock: Callable[[], dt.datetime]
    ) -> None:
        self._pages = pages
        self._active_night = active_night
        self._clock = clock
        self._made_for: tuple[str | None, Standing] | None = None
        self._page: Answer | None = None

    async def respond(self, request: Request) -> HttpResponse:
        """The page of the active night."""
        with self._active_night.pin() as book:
            standing = Standing.of(book, self._active_night, self._clock().date())
            wanted = book.data_version, standing
            if self._page is None or wanted != self._made_for:
                self._page, self._made_for = self._made(book, standing), wanted
        return public_page(request, self._page, PUBLIC)

    def _made(self, book: Book, standing: Standing) -> Answer:
        method = book.method()
        html = self._pages.render(
            "method.html",
            PATH,
            method=method,
            picture=picture(method) if method else None,
            name=name_of,
            disclaimer=book.disclaimer,
            session=book.session,
            standing=standing,
            few=FEW,
            few_half_years=FEW_HALF_YEARS,
        )
        return Answer(html.encode(), HTML)


def name_of(measure: Measure) -> str:
    """The name of a group: `Triangle, bullish`, `Rising wedge`, `All`."""
    if measure.family is None:
        return "All"
    if measure.direction is None or not measure.family.both_ways:
        return measure.family.label
    return f"{measure.family.label}, {measure.direction}"


def picture(method: Method) -> Picture | None:
    """A picture of all differences with an error and enough trades; None if there is none."""
    shown = [
        (measure, found.mean, 2 * found.error)
        for measure in method.by_family()
        if (found := measure.difference_r) and found.error is not None and not measure.few
    ]
    if not shown:
        return None
    reach = 1.1 * max(abs(mean) + whisker for _, mean, whisker in shown) or 1.0
    middle, scale = (LEFT + WIDTH - RIGHT) / 2, (WIDTH - LEFT - RIGHT) / 2 / reach
    dots = [
        Dot(
            name=name_of(measure),
            y=TOP + ROW * (row + 0.5),
            x=round(middle + scale * mean, 1),
            low=round(middle + scale * (mean - whisker), 1),
            high=round(middle + scale * (mean + whisker), 1),
            clear=measure.distinguishable,
        )
        for row, (measure, mean, whisker) in enumerate(shown)
    ]
    ends = [(round(middle + scale * r, 1), f"{r:+.2f}") for r in (-reach / 1.1, reach / 1.1)]
    ticks = [ends[0], (middle, "0"), ends[1]]
    return Picture(dots, middle, ticks, WIDTH, TOP + ROW * len(dots) + 30)

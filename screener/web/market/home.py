"""Home: what the service is, what the night holds, and charts of the demo symbols."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from mcp_server.presentation.hosts import hosts
from mcp_server.presentation.offer import Offer
from screener.web.site.pages import Context, Page
from screener.web.site.services import WebServices
from screener.web.site.visit import Visit
from store.nights.book import Book
from store.wire.families import Family
from store.wire.view import SetupView

PATH = "/"


@dataclass(frozen=True, slots=True)
class Example:
    """One demo symbol's first setup."""

    setup: SetupView
    chart: str
    """The address of its chart."""
    summary: str | None
    """The family's track record, to be quoted whole."""


@dataclass(frozen=True, slots=True)
class FamilyCounts:
    """What a night holds of one family."""

    family: Family
    forming: int
    in_progress: int
    record: Mapping[str, Any] | None
    """The family's track record."""


async def show(visit: Visit, web: WebServices) -> Page:
    """The first page."""
    make = partial(_context, web.services.offer_of_night)
    with web.services.active_night.pin() as book:
        return web.pages.show("home.html", visit, book, make)


def _context(offer: Offer, book: Book) -> Context:
    shown = hosts(offer)
    ways = {way.key: way for host in shown for way in host.ways}
    found = [_example(book, symbol) for symbol in offer.demo_symbols]
    examples = [example for example in found if example is not None]
    return {
        "offer": offer,
        "hosts": shown,
        "examples": examples[:5],
        "curl": ways["curl"].value,
        "ways": ways,
        "families": _families(book),
    }


def _families(book: Book) -> list[FamilyCounts]:
    """The setups of every family, counted by status, with its record."""
    counts = Counter((setup.family, setup.status) for setup in book.scan.rows)
    return [
        FamilyCounts(
            family,
            counts[family, "forming"],
            counts[family, "in_progress"],
            book.family_record(family),
        )
        for family in Family
    ]


def _example(book: Book, symbol: str) -> Example | None:
    """A demo symbol's first setup, if it has one that can be drawn."""
    setups = book.views(symbol)
    if not setups or book.prices(symbol) is None:
        return None
    setup = setups[0]
    record = book.family_record(setup.family)
    chart = f"/api/v1/demo/{symbol}/chart.png?setup_id={setup.setup_id}"
    return Example(setup, chart, record and record["summary"])

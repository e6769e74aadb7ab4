"""Home: what the service is, what the night holds, and charts of the demo symbols."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from mcp_server.presentation.hosts import hosts
from store.nights.book import Book, PerBook
from store.wire.families import Family
from store.wire.view import SetupView
from web.site.night_head import NightPages
from web.site.pages import Context, Page
from web.site.site import Site
from web.site.visit import Visit


@dataclass(frozen=True, slots=True)
class Example:
    """One demo symbol's first setup."""

    setup: SetupView
    chart: str
    """The address of its chart."""
    summary: str | None
    """The family's track record, to be quoted whole."""


@dataclass(frozen=True, slots=True)
class FamilyTonight:
    """What a night holds of one family."""

    family: Family
    forming: int
    in_progress: int
    record: Mapping[str, Any] | None
    """The family's track record."""


class Home:
    """The first page."""

    def __init__(self, site: Site, pages: NightPages) -> None:
        self._services = site.services
        self._pages = pages
        self._tonight = PerBook(families_of)
        self._hosts = hosts(site.services.offer)
        self._ways = {way.key: way for host in self._hosts for way in host.ways}

    async def show(self, visit: Visit) -> Page:
        """The page."""
        with self._services.active_night.pin() as book:
            return self._pages.show("home.html", visit, book, self._shown)

    def _shown(self, book: Book) -> Context:
        offer = self._services.offer
        found = [example_of(book, symbol) for symbol in offer.demo_symbols]
        examples = [example for example in found if example is not None]
        curl = self._ways["curl"].value
        if examples:
            curl = f"curl {offer.base_url}/demo/{examples[0].setup.symbol}"
        return {
            "offer": offer,
            "hosts": self._hosts,
            "examples": examples[:5],
            "curl": curl,
            "ways": self._ways,
            "tonight": self._tonight.of(book),
        }


def families_of(book: Book) -> list[FamilyTonight]:
    """The setups of every family, counted by status, beside its record."""
    counts = Counter((setup.family, setup.status) for setup in book.scan.rows)
    return [
        FamilyTonight(
            family,
            counts[family, "forming"],
            counts[family, "in_progress"],
            orjson.loads(book.family(family))["track_record"],
        )
        for family in Family
    ]


def example_of(book: Book, symbol: str) -> Example | None:
    """A demo symbol's first setup, if it has one that can be drawn."""
    setups = book.views(symbol)
    if not setups or book.prices(symbol) is None:
        return None
    setup = setups[0]
    record = orjson.loads(book.family(Family(setup.family)))["track_record"]
    chart = f"/api/v1/demo/{symbol}/chart.png?setup_id={setup.setup_id}"
    return Example(setup, chart, record and record["summary"])

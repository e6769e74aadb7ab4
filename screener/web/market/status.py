"""Status: which night is served, how old it is, what it holds, and what it left out and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from mcp_server.presentation.offer import Offer
from screener.telemetry.version import VERSION
from screener.web.site.access import sees_scan
from screener.web.site.pages import Context, Page
from screener.web.site.services import WebServices
from screener.web.site.visit import Visit
from store.nights.book import Book
from store.wire.labels import FOUND, LEFT_OUT, words_of
from store.wire.words import short

PATH = "/status"

MAX_NAMED = 50
"""Symbols and files that are named for one reason."""

MAX_NAME, MAX_REASON = 80, 300
"""Characters that are shown of each."""


class ExcludedSymbol(NamedTuple):
    """What one reason left out: all of it counted, and the first ones by name."""

    words: str
    size: int
    named: Sequence[tuple[str, str]]
    """A symbol or a file, and the reason in full."""


class Irregularity(NamedTuple):
    """What one rule found in the bars."""

    words: str
    bars: int
    symbols: int


async def show(visit: Visit, web: WebServices) -> Page:
    """The page; names of symbols and files only for who may see the scan."""
    names, active_night = sees_scan(visit, web), web.services.active_night
    with active_night.pin() as book:
        return web.pages.show(
            "status.html",
            visit,
            book,
            partial(_context, web.services.offer),
            nights=tuple(active_night.last_nights),
            names=names,
            progress=web.news.progress() if names else None,
            degraded=tuple(web.degraded()),
        )


def _context(offer: Offer, book: Book, **_now: object) -> Context:
    report = book.report()
    summary = summary_of(report) if report else None
    return {"book": book, "summary": summary, "program": VERSION, "offer": offer}


def summary_of(report: Mapping[str, Any]) -> Context:
    """What the run that made a night reported, for people."""
    refused = [
        ExcludedSymbol(words_of(code, LEFT_OUT), len(by_name), _named(by_name))
        for code, by_name in report.get("refused", {}).items()
    ]
    irregularities = [
        Irregularity(words_of(rule, FOUND), bars, symbols)
        for rule, (bars, symbols) in report.get("findings", {}).items()
    ]
    return {
        "bars": report.get("bars", 0),
        "refused": sorted(refused, key=lambda one: -one.size),
        "irregularities": sorted(irregularities, key=lambda one: -one.bars),
        "forming": sum(report.get("forming", {}).values()),
        "running": sum(report.get("running", {}).values()),
        "dividend_adjusted": report.get("dividend_adjusted", 0),
        "assumed_currencies": {
            "US dollars": report.get("assumed_dollars", 0),
            **report.get("assumed_currencies", {}),
        },
        "markets": {name: len(them) for name, them in report.get("markets", {}).items()},
    }


def _named(by_name: Mapping[str, str]) -> list[tuple[str, str]]:
    first = sorted(by_name.items())[:MAX_NAMED]
    return [(short(name, MAX_NAME), short(reason, MAX_REASON)) for name, reason in first]

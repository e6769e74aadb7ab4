"""The evening's first page: what is new, near its trigger, triggered, ended or gone since the night
before, with the visitor's tracked tickers first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence, Set
from dataclasses import dataclass

from starlette.responses import RedirectResponse

from mcp_server.calls.errors import PageRefusal
from mcp_server.charts.past import trades_of
from mcp_server.operations.handlers.changes import ChangeEvent, evening, near_words
from mcp_server.operations.watchlist import tracked_by
from screener.web.site.access import sees_scan, sees_ticker
from screener.web.site.pages import Context, Page
from screener.web.site.services import WebServices
from screener.web.site.visit import Visit, sign_in_address
from store.nights.book import Book
from store.wire.labels import CHANGE_KINDS
from store.wire.words import changed_words

PATH = "/changes"

MAX_ROWS = 200
"""Formations of one heading that the page shows."""


@dataclass(frozen=True, slots=True)
class ChangeRow:
    """A formation as the page shows it."""

    event: ChangeEvent
    drawable: bool
    """Whether there is a picture: of its setup, of its trade, or of its symbol."""
    trade: str | None
    """The past trade that the picture shows, if the visitor may see it."""
    lost: str | None = None
    """Else the formation whose lines it shows, if the night has them."""


@dataclass(frozen=True, slots=True)
class ChangeGroup:
    """The formations under one heading: the first of them, and the number of all."""

    heading: str
    lines: Sequence[ChangeRow]
    count: int


async def show(visit: Visit, web: WebServices) -> Page:
    """The page for those who may see the scan, or the way to it."""
    if not sees_scan(visit, web):
        if visit.account is None:
            return RedirectResponse(sign_in_address(visit.request), 303)
        raise PageRefusal(403, "Your plan does not include changes across the whole market.")
    tracked = frozenset(await tracked_by(visit.account, web.services))
    with web.services.active_night.pin() as book:
        changed = {row["symbol"] for row in (book.changes() or {}).get("changes", ())}
        seen = frozenset(one for one in changed if sees_ticker(visit, web, one, tracked))
        return web.pages.show("changes.html", visit, book, _context, tracked=tracked, seen=seen)


def _context(book: Book, tracked: Set[str], seen: Set[str]) -> Context:
    record = book.changes() or {"since_session": None, "changes": ()}
    of_kind = Counter(row["change"] for row in record["changes"])
    counts = ", ".join(f"{of_kind[kind]:,} {name.lower()}" for kind, name in CHANGE_KINDS.items())
    return {
        "since": record["since_session"],
        "changed": f"{changed_words(record['changes'])}: {counts}" if of_kind else "",
        "detector_changed": book.detector_changed,
        "groups": groups_of(book, tracked, seen),
        "near": near_words(evening(book)),
    }


def groups_of(book: Book, tracked: Set[str], seen: Set[str]) -> list[ChangeGroup]:
    """The headings that have formations, each with its first ones, tracked tickers in front. Past
    trades are shown of the tickers in `seen`.
    """
    groups = []
    for heading, events in evening(book).items():
        events.sort(key=lambda event: event.symbol not in tracked)
        lines = [_line(book, event, seen) for event in events[:MAX_ROWS]]
        groups.append(ChangeGroup(heading, lines, len(events)))
    return groups


def _line(book: Book, event: ChangeEvent, seen: Set[str]) -> ChangeRow:
    if event.view:
        return ChangeRow(event, True, None)
    coverage, lineage = book.coverage(event.symbol), event.rows[0]["lineage_id"]
    first = event.rows[0]["attempt"] == 1
    past = trades_of(book, event.symbol) if first and event.symbol in seen else ()
    trade = next((lineage for trade in past if trade["lineage_id"] == lineage), None)
    lost = lineage if any(row.get("lines") for row in event.rows) else None
    return ChangeRow(event, coverage is not None and coverage.covered, trade, lost)

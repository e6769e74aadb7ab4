"""The changes since the night before, grouped by kind, with the visitor's tracked tickers first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from starlette.responses import RedirectResponse

from store.nights.book import Book
from store.wire.labels import CHANGE_KINDS, CHANGE_REASONS
from web.site.access import sees_scan, tracked_by
from web.site.pages import Context, Page
from web.site.refusals import Refusal
from web.site.site import Site
from web.site.visit import Visit, sign_in_address

PATH = "/changes"

MOST = 200
"""Changes of one kind that the page shows."""

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class ChangesOfKind:
    """The changes of one kind: the first of them, and the number of all."""

    heading: str
    rows: Rows
    count: int


async def show(visit: Visit, site: Site) -> Page:
    """The page for those who may see the scan, or the way to it."""
    if not sees_scan(visit, site):
        if visit.account is None:
            return RedirectResponse(sign_in_address(visit.request), 303)
        raise Refusal(403, "Your plan does not include changes across the whole market.")
    tracked = frozenset(await tracked_by(visit, site))
    with site.services.active_night.pin() as book:
        return site.pages.show("changes.html", visit, book, _context, tracked=tracked)


def _context(book: Book, tracked: Set[str]) -> Context:
    changes = book.changes()
    return {
        "since": changes and changes["since_session"],
        "detector_changed": book.detector_changed,
        "groups": groups_of(changes["changes"] if changes else (), tracked),
        "reasons": CHANGE_REASONS,
    }


def groups_of(rows: Rows, tracked: Set[str]) -> list[ChangesOfKind]:
    """The kinds that have changes, each with its first ones, those of tracked tickers in front."""
    groups = []
    for kind, heading in CHANGE_KINDS.items():
        of_kind = [row for row in rows if row["change"] == kind]
        of_kind.sort(key=lambda row: row["symbol"] not in tracked)
        if of_kind:
            groups.append(ChangesOfKind(heading, of_kind[:MOST], len(of_kind)))
    return groups

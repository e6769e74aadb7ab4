"""The changes since the night before, grouped by kind, with the visitor's tracked tickers first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from starlette.responses import RedirectResponse

from store.nights.book import Book
from store.wire.labels import CHANGE_KINDS, CHANGE_REASONS
from web.access import Access
from web.night_head import NightPages
from web.pages import Context, Page
from web.refusals import Refusal
from web.return_paths import sign_in_address
from web.site import Site
from web.visit import Visit

PATH = "/changes"

MOST = 200
"""Changes of one kind that the page shows."""

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Group:
    """The changes of one kind: the first of them, and the number of all."""

    heading: str
    rows: Rows
    count: int


class ChangesPage:
    """The page for those who may see the scan."""

    def __init__(self, site: Site, pages: NightPages) -> None:
        self._site = site
        self._pages = pages
        self._access = Access(site)

    async def show(self, visit: Visit) -> Page:
        """The page, or the way to it."""
        if not self._access.scan(visit):
            if visit.account is None:
                return RedirectResponse(sign_in_address(visit.request), 303)
            raise Refusal(403, "Your plan does not include changes across the whole market.")
        tracked = frozenset(await self._access.tracked(visit))
        with self._site.services.active_night.pin() as book:
            return self._pages.show("changes.html", visit, book, _shown, tracked=tracked)


def _shown(book: Book, tracked: Set[str]) -> Context:
    found = book.changes()
    return {
        "since": found and found["since_session"],
        "groups": groups_of(found["changes"] if found else (), tracked),
        "reasons": CHANGE_REASONS,
    }


def groups_of(rows: Rows, tracked: Set[str]) -> list[Group]:
    """The kinds that have changes, each with its first ones, those of tracked tickers in front."""
    groups = []
    for kind, heading in CHANGE_KINDS.items():
        of_kind = [row for row in rows if row["change"] == kind]
        of_kind.sort(key=lambda row: row["symbol"] not in tracked)
        if of_kind:
            groups.append(Group(heading, of_kind[:MOST], len(of_kind)))
    return groups

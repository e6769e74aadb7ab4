"""The screen: the scan of the night as a table, with a form for everything it can be asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import orjson
from starlette.responses import RedirectResponse

from mcp_server.operations.scan import notes, page, select
from mcp_server.operations.scan_order import COLUMNS, SORTS
from store.nights.book import Book
from store.wire.families import Family
from store.wire.view import SetupView
from web.access import NO_PLAN, Access
from web.condition_words import COMPARISONS, FIELDS, GROUPS, LABELS
from web.night_head import NightPages
from web.pages import Context, Page
from web.refusals import Refusal
from web.return_paths import address_of, sign_in_address
from web.scan_copies import copies_of
from web.scan_query import DEFAULTS, Query, read_query
from web.site import Site
from web.visit import Visit

NOT_ASKED = Refusal(400, "This scan cannot be run. The form says why.")
FAMILIES = (("", "All families"), *((str(family), family.label) for family in Family))
LIMITS = tuple((size, size) for size in ("25", "50", "100", "200"))
STATUSES = (("forming", "Forming"), ("in_progress", "In progress"), ("all", "All"))


@dataclass(frozen=True, slots=True)
class Tab:
    """The setups of one status, how many match, and where they are shown."""

    status: str
    label: str
    count: int
    address: str


@dataclass(frozen=True, slots=True)
class SortHead:
    """A column that sorts."""

    label: str
    address: str
    order: str
    """The value of `aria-sort`; empty if the list is not sorted by it."""


@dataclass(frozen=True, slots=True)
class Row:
    """A setup with the other attempts of its formation, which stand in its row."""

    view: SetupView
    others: Sequence[SetupView]
    name: str


@dataclass(frozen=True, slots=True)
class Results:
    """One page of matching setups."""

    rows: Sequence[Row]
    size: int
    """The setups on the page; those of one formation share a row."""
    without_evidence: Mapping[str, int]
    """By the label of a condition: setups that have no value for it."""
    notes: Sequence[str]
    count: int
    tabs: Sequence[Tab]
    summaries: Sequence[str]
    """The records of the families on the page, whole."""
    previous: str
    """Where the page before is; empty if there is none."""
    following: str


class ScreenPage:
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
            return self._pages.respond("screen_closed.html", visit, refusal=Refusal(403, NO_PLAN))
        progress = self._site.news.progress()
        if self._site.services.active_night.book.session is None:
            return self._pages.respond("working.html", visit, progress=progress)
        query, sent = read_query(visit.request.query_params.multi_items())
        if sent and not query.failed and query.address() != address_of(visit.request):
            return RedirectResponse(query.address(), 303)
        with self._site.services.active_night.pin() as book:
            return self._pages.show(
                "screen.html",
                visit,
                book,
                partial(self._shown, query),
                progress=progress,
                address=query.address(),
                refusal=NOT_ASKED if query.failed else None,
            )

    def _shown(self, query: Query, book: Book, **_others: object) -> Context:
        """What the page shows of a query; its address says all of it in one spelling."""
        return {
            "query": query,
            "results": None if query.failed else self._results(book, query),
            "headings": _headings(query),
            "copies": () if query.failed else copies_of(query, self._site.services.offer),
            "covered": book.counts.covered if book.counts else None,
            "family_choices": FAMILIES,
            "groups": GROUPS,
            "fields": FIELDS,
            "comparisons": COMPARISONS,
            "sorts": tuple(SORTS.items()),
            "limits": LIMITS,
            "defaults": DEFAULTS,
        }

    def _results(self, book: Book, query: Query) -> Results:
        arguments = query.arguments
        found = select(book.evidence, arguments, query.predicates)
        count, positions = page(book.evidence, found, arguments)
        views = [book.scan.rows[position] for position in positions]
        name = self._site.services.directory(book).name
        formations = {view.lineage_id: view for view in reversed(views)}
        sizes = {"forming": int(found.forming.sum()), "in_progress": int(found.in_progress.sum())}
        sizes["all"] = sum(sizes.values())
        first, limit = arguments.offset, arguments.limit
        return Results(
            rows=[
                Row(view, book.scan.others(view), name(view.symbol))
                for view in views
                if formations[view.lineage_id] is view
            ],
            size=len(views),
            notes=list(dict.fromkeys(notes(book, arguments, found, positions))),
            without_evidence={LABELS[k]: n for k, n in found.without_evidence.items()},
            count=count,
            tabs=[
                Tab(status, label, sizes[status], query.address(status=status, offset="0"))
                for status, label in STATUSES
            ],
            summaries=_summaries(book, views),
            previous=query.address(offset=str(max(0, first - limit))) if first else "",
            following=query.address(offset=str(first + limit)) if first + limit < count else "",
        )


def _headings(query: Query) -> dict[str, SortHead]:
    return {name: _heading(query, name) for name in COLUMNS}


def _heading(query: Query, name: str) -> SortHead:
    column = COLUMNS[name]
    order = {name: "ascending", f"-{name}": "descending"}.get(query.arguments.sort, "")
    turned = {"ascending": f"-{name}", "descending": name, "": f"{column.first}{name}"}[order]
    return SortHead(column.label, query.address(sort=turned, offset="0"), order)


def _summaries(book: Book, views: Sequence[SetupView]) -> list[str]:
    families = dict.fromkeys(Family(view.family) for view in views)
    records = (orjson.loads(book.family(family))["track_record"] for family in families)
    return [record["summary"] for record in records if record]

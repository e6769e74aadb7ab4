"""The screen: the scan of the night as a table or as charts, with a form for everything it can be
asked, and its query as programs and people pass it on."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from markupsafe import Markup
from starlette.responses import RedirectResponse

from mcp_server.calls.errors import PageRefusal
from mcp_server.filters.scan_order import COLUMNS as ORDERS
from mcp_server.filters.scan_order import SORTS
from mcp_server.operations.handlers.scan import notes
from mcp_server.operations.screens import DEFAULTS, PATH, parameter_text
from mcp_server.operations.selection import Matches, page, select
from mcp_server.presentation.offer import Offer
from screener.web.market.columns import (
    BY_STATUS,
    COLUMNS,
    RECORD,
    USUAL,
    Row,
    ScreenColumn,
    cells_of,
    rows_of,
    sheet_of,
)
from screener.web.market.condition_words import COMPARISONS, FIELDS, GROUPS
from screener.web.market.presets import PRESETS
from screener.web.market.scan_query import VIEWS, Query, read_query
from screener.web.site.access import NO_PLAN, sees_scan
from screener.web.site.forms import address_of
from screener.web.site.pages import Context, Page, download, environment
from screener.web.site.services import WebServices
from screener.web.site.visit import Visit, sign_in_address
from store.nights.book import Book
from store.wire.csv_files import csv_text
from store.wire.currency import DOLLARS
from store.wire.families import Family
from store.wire.words import plural

CSV_PATH = f"{PATH}.csv"
CSV = "text/csv; charset=utf-8"

NOT_ASKED = PageRefusal(400, "This scan cannot be run. The form shows why.")
FAMILIES = (("", "All families"), *((str(family), family.label) for family in Family))
LIMITS = tuple((size, size) for size in ("25", "50", "100", "200"))
STATUSES = (("forming", "Forming"), ("in_progress", "Triggered"), ("all", "All"))


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
    look: str
    """The class of its cells."""


@dataclass(frozen=True, slots=True)
class Copy:
    """One text that asks for the same rows."""

    key: str
    label: str
    words: str
    text: str


async def show(visit: Visit, web: WebServices) -> Page:
    """The page for those who may see the scan, or the way to it."""
    if not sees_scan(visit, web):
        if visit.account is None:
            return RedirectResponse(sign_in_address(visit.request), 303)
        return web.pages.respond("screen_closed.html", visit, refusal=PageRefusal(403, NO_PLAN))
    progress = web.news.progress()
    if web.services.active_night.book.session is None:
        return web.pages.respond("working.html", visit, progress=progress)
    query, is_of_form = read_query(visit.request.query_params.multi_items())
    if is_of_form and not query.failed and query.address() != address_of(visit.request):
        return RedirectResponse(query.address(), 303)
    with web.services.active_night.pin() as book:
        return web.pages.show(
            "screen.html",
            visit,
            book,
            partial(_context, web, query),
            progress=progress,
            address=query.address(),
            refusal=NOT_ASKED if query.failed else None,
        )


async def sheet(visit: Visit, web: WebServices) -> Page:
    """All setups of a query as CSV, with the columns that the page shows."""
    if not sees_scan(visit, web):
        raise PageRefusal(403, NO_PLAN)
    query, _ = read_query(visit.request.query_params.multi_items())
    if query.failed:
        raise PageRefusal(400, NOT_ASKED.message)
    with web.services.active_night.pin() as book:
        if book.session is None:
            raise PageRefusal(404, "There is no night yet.")
        query, found = _found(book, query)
        every = query.arguments.model_copy(update={"offset": 0, "limit": len(book.scan.rows)})
        _, positions = page(book.features, found, every)
        name = web.services.directory(book).name
        rows = rows_of(book, positions, name, query.all_columns)
        text = csv_text(sheet_of(rows, query.all_columns.values()))
        return download(visit, text, CSV, f"screen-{book.session}.csv")


def _context(web: WebServices, query: Query, book: Book, **_others: object) -> Context:
    """What the page shows of a query; its address says all of it in one spelling."""
    asked = query.address(view="", columns="", offset="")
    results = None
    if not query.failed:
        query, found = _found(book, query)
        results = _results(web, book, query, found)
    return {
        "query": query,
        "results": results,
        "headings": [_heading(query, *column) for column in query.all_columns.items()],
        "presets": PRESETS,
        "preset": next((one for one in PRESETS if one.address == asked), None),
        "views": [(view, query.address(view=view)) for view in VIEWS],
        "csv": CSV_PATH + query.address().removeprefix(PATH),
        "copies": () if query.failed else _copies(query, web.services.offer),
        "covered": book.counts.covered if book.counts else None,
        "family_choices": FAMILIES,
        "groups": GROUPS,
        "fields": FIELDS,
        "comparisons": COMPARISONS,
        "columns": {name: one for name, one in COLUMNS.items() if name not in RECORD[:-1]},
        "sorts": tuple(SORTS.items()),
        "limits": LIMITS,
        "defaults": DEFAULTS,
    }


def _found(book: Book, query: Query) -> tuple[Query, Matches]:
    """What matches, and the query on its tab: where none was chosen, on the first that has rows."""
    found = select(book, query.arguments)
    chosen = query.typed["status"] or query.arguments.max_distance_pct is not None
    if chosen or found.forming.any() or not found.in_progress.any():
        return query, found
    return query.on("in_progress"), found


def _results(web: WebServices, book: Book, query: Query, found: Matches) -> Context:
    """One page of matching setups; those of one formation share a row."""
    arguments, near = query.arguments, query.arguments.max_distance_pct is not None
    count, positions = page(book.features, found, arguments)
    rows = rows_of(book, positions, web.services.directory(book).name, query.all_columns)
    sizes = {"forming": int(found.forming.sum()), "in_progress": int(found.in_progress.sum())}
    sizes["all"] = sizes["forming"] + (0 if near else sizes["in_progress"])
    addresses = {status: status for status in sizes}
    if near or sizes["forming"] or not sizes["in_progress"]:
        addresses["forming"] = ""  # it is the tab of who chose none
    first, limit = arguments.offset, arguments.limit
    records = map(book.family_record, dict.fromkeys(row.view.family for row in rows))
    return {
        "lines": _lines(web, query, book, rows),
        "size": len(rows),
        "abroad": any(row.view.currency != DOLLARS for row in rows),
        "count": count,
        "counts": _counts(sizes, query),
        "notes": list(dict.fromkeys(notes(book, arguments, found, positions))),
        "without_evidence": {FIELDS[k].label: n for k, n in found.without_evidence.items()},
        "tabs": [
            Tab(status, label, sizes[status], query.address(status=addresses[status], offset="0"))
            for status, label in STATUSES
        ],
        "summaries": [record["summary"] for record in records if record],
        "previous": query.address(offset=str(max(0, first - limit))) if first else "",
        "following": query.address(offset=str(first + limit)) if first + limit < count else "",
    }


def _counts(sizes: Mapping[str, int], query: Query) -> str:
    """How many setups match in each status, in a sentence that agrees with the tabs."""
    forming = plural(sizes["forming"], "forming setup")
    running = plural(sizes["in_progress"], "open trade")
    if query.arguments.max_distance_pct is not None:
        return (
            f"The night has {forming} so close to the trigger. Open trades are not filtered by "
            f"distance: {running}, under Triggered only."
        )
    asked = "" if query.is_plain else " that match"
    return f"The night has {forming} and {running}{asked}."


def _lines(web: WebServices, query: Query, book: Book, rows: Sequence[Row]) -> list[Markup]:
    """The lines of a page: of the setups of one formation the first, with the others. With the
    usual columns each is written once a night, which half of a page's work is.
    """
    cells = {name: column for name, column in query.all_columns.items() if name != "symbol"}
    write = getattr(environment().get_template("screen_row.html").module, query.view)
    kept = web.rows.of(book) if tuple(query.all_columns) == USUAL else {}
    lines = dict[str, Markup]()
    for row in rows:
        key, formation = (query.view, row.view.setup_id), row.view.lineage_id
        if formation not in lines:
            if key not in kept:
                kept[key] = write(row, cells_of(row, cells))
            lines[formation] = kept[key]
    return list(lines.values())


def _heading(query: Query, name: str, column: ScreenColumn) -> SortHead:
    status = query.arguments.status
    if not column.sort:
        return SortHead(column.label, "", "", column.look)
    by_gain = name == "place" and status == "in_progress"
    sort = "gain" if by_gain else column.sort
    order = {sort: "ascending", f"-{sort}": "descending"}.get(query.arguments.sort, "")
    turned = {"ascending": f"-{sort}", "descending": sort, "": f"{ORDERS[sort].first}{sort}"}[order]
    label = BY_STATUS.get((name, status), column.label)
    return SortHead(label, query.address(sort=turned, offset="0"), order, column.look)


def _copies(query: Query, offer: Offer) -> list[Copy]:
    """The texts of a query; as an MCP call only where the service offers the tool."""
    copies = [Copy("curl", "As curl", "SCREENER_KEY holds one of your keys.", _curl(query, offer))]
    if offer.extended:
        words = f"The body of a POST to {offer.extended_url}, with the same key."
        copies.append(Copy("mcp", "As an MCP call", words, _mcp(query)))
    link = f"{offer.public_url}{query.address()}"
    return [
        *copies,
        Copy("link", "As a link", "Anyone who can open the screen can open this link.", link),
    ]


def _curl(query: Query, offer: Offer) -> str:
    lines = [
        f"curl --get {shlex.quote(f'{offer.base_url}/scan')}",
        '--header "Authorization: Bearer $SCREENER_KEY"',
    ]
    for name, value in query.scan.items():
        lines.append(f"--data-urlencode {shlex.quote(f'{name}={parameter_text(value)}')}")
    return " \\\n  ".join(lines)


def _mcp(query: Query) -> str:
    # The tool shows fewer rows than the page when it is not told how many.
    arguments = {**query.scan, "limit": query.arguments.limit}
    call = {"name": "scan_setups", "arguments": arguments}
    return json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}, ensure_ascii=False
    )

"""The symbol pages: one for each ticker, with its setups and history, one for each of its past
trades, and the search that leads there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple
from urllib.parse import quote

import orjson
from starlette.responses import RedirectResponse, Response

from mcp_server.calls.errors import PageRefusal
from mcp_server.charts.past import Past, past_words
from mcp_server.filters.symbol_search import MAX_QUERY
from mcp_server.http.responses import PRIVATE, answer_response
from mcp_server.operations.access import is_demo
from mcp_server.operations.answers import Answer
from mcp_server.operations.handlers.changes import ended
from mcp_server.operations.handlers.scan import is_covered
from mcp_server.operations.symbols import SYMBOL_PATTERN
from mcp_server.operations.watchlist import tracked_by
from mcp_server.presentation.absence import absence
from screener.web.market.charts import NO_TRADE
from screener.web.market.figures import histogram
from screener.web.market.watchlist import edit
from screener.web.site.access import NO_PLAN, sees_scan, sees_ticker
from screener.web.site.pages import Context, Page
from screener.web.site.services import WebServices
from screener.web.site.visit import Visit, sign_in_address
from store.accounts.accounts import Account
from store.nights.book import Book, Coverage, Entry, company_name
from store.wire.examples import OF_SYMBOL, drawable, examples
from store.wire.method import Distribution
from store.wire.view import SetupView, fresh_first
from store.wire.words import record_words

PATH, SEARCH_PATH, SUGGEST_PATH = "/symbols/{symbol}", "/symbols", "/symbols.json"
TRADE_PATH = "/symbols/{symbol}/trades/{trade}"

FOUND = 50
"""Most symbols that a search lists."""

SUGGESTED = 8
"""Most symbols that the search of the head suggests."""

OCCURRENCES = 100
"""Past trades on one page of a history."""


SAID_ABOVE = "Its record is the one above."
NO_RECORD = "No trade of this family has been resolved yet."

NO_CHANGE = PageRefusal(400, "This form only tracks or untracks a ticker.")


class Match(NamedTuple):
    """A symbol that a search found."""

    symbol: str
    name: str
    setups: int
    """0 for who may not see the scan."""


async def show(visit: Visit, web: WebServices) -> Page:
    """The page of a symbol, under its name in upper case."""
    symbol: str = visit.request.path_params["symbol"]
    if symbol != symbol.upper() and SYMBOL_PATTERN.fullmatch(symbol):
        query = visit.request.url.query
        return RedirectResponse(_path_of(symbol.upper()) + (f"?{query}" if query else ""))
    return await _show(visit, web, symbol)


async def change(visit: Visit, web: WebServices, account: Account) -> Page:
    """Track the ticker, or no longer track it."""
    symbol: str = visit.request.path_params["symbol"]
    if web.services.active_night.book.coverage(symbol) is None:
        return await _show(visit, web, symbol)
    edits = {"track": ([symbol], []), "untrack": ([], [symbol])}
    chosen = edits.get(visit.form.get("change", ""))
    if chosen is None:
        return await _show(visit, web, symbol, NO_CHANGE)
    try:
        await edit(web, account, *chosen)
    except PageRefusal as refusal:
        return await _show(visit, web, symbol, refusal)
    return RedirectResponse(visit.request.url.path, 303)


async def trade(visit: Visit, web: WebServices) -> Page:
    """The page of a past trade, with its chart where its bars are kept."""
    symbol: str = visit.request.path_params["symbol"]
    if not sees_ticker(visit, web, symbol, await tracked_by(visit.account, web.services)):
        return RedirectResponse(_path_of(symbol), 303)
    with web.services.active_night.pin() as book:
        past = Past.of(book, symbol, visit.request.path_params["trade"])
        if past is None:
            raise PageRefusal(404, NO_TRADE)
        return web.pages.respond(
            "trade.html",
            visit,
            night=web.pages.status(book),
            symbol=symbol,
            covered=is_covered(book, symbol),
            absence=absence(book, symbol),
            past=past,
            caption=past_words(book, past),
            prices=book.kept_prices(symbol),
            currency=book.currency(symbol),
        )


async def suggest(visit: Visit, web: WebServices) -> Page:
    """The symbols and names that a text which is being typed may mean, as JSON."""
    text = _asked(visit)
    with web.services.active_night.pin() as book:
        entries = web.services.directory(book).search(text)[:SUGGESTED] if text else []
    found = [{"symbol": entry["symbol"], "name": company_name(entry)} for entry in entries]
    return answer_response(Answer(orjson.dumps(found)), visit.request.scope["fields"], PRIVATE)


def _asked(visit: Visit) -> str:
    return visit.request.query_params.get("search", "").strip()[:MAX_QUERY]


async def find(visit: Visit, web: WebServices) -> Page:
    """The symbols that a text may mean; the page of the one that it names."""
    text = _asked(visit)
    with web.services.active_night.pin() as book:
        if text and book.coverage(text.upper()) is not None:
            return RedirectResponse(_path_of(text.upper()), 303)
        if not text:
            return web.pages.show("symbols.html", visit, book, _nothing_asked)
        entries = web.services.directory(book).search(text)
        return web.pages.respond(
            "symbols.html",
            visit,
            night=web.pages.status(book),
            text=text,
            matches=_matches(visit, web, book, entries[:FOUND]),
            count=len(entries),
        )


async def _show(
    visit: Visit, web: WebServices, symbol: str, refusal: PageRefusal | None = None
) -> Page:
    tracked = await tracked_by(visit.account, web.services)
    with web.services.active_night.pin() as book:
        coverage = book.coverage(symbol)
        if coverage is None:
            return _unknown(visit, web, book, symbol)
        whole = sees_ticker(visit, web, symbol, tracked)
        if not whole and not sees_scan(visit, web):
            if visit.account is None:
                return RedirectResponse(sign_in_address(visit.request), 303)
            raise PageRefusal(403, NO_PLAN)
        return web.pages.show(
            "symbol.html",
            visit,
            book,
            partial(_context, web),
            coverage=coverage,
            open=whole,
            tracked=symbol in tracked,
            page=_page_number(visit, book, symbol) if whole else None,
            refusal=refusal,
        )


def _context(
    web: WebServices, book: Book, coverage: Coverage, page: int | None, **_others: object
) -> Context:
    """What the page shows of a night; with a page of its history, for who may see the ticker."""
    symbol = coverage.symbol
    setups = fresh_first(book.views(symbol))
    entry = web.services.directory(book).entry(symbol) or {}
    records = _records(book, setups)
    facts = (entry.get(name) for name in ("asset_type", "exchange", "industry", "country"))
    return {
        "symbol": symbol,
        "name": company_name(entry),
        "facts": [fact for fact in facts if fact],
        "absence": absence(book, symbol),
        "ended": ended(book, symbol),
        "since": (book.changes() or {}).get("since_session"),
        "setups": setups,
        "opposite": len({setup.directions for setup in setups}) > 1,
        "records": records,
        "drawable": book.prices(symbol) is not None,
        "bare": None if setups else past_words(book, Past(symbol)),
        "demo": is_demo(symbol, web.services.offer),
        "currency": book.currency(symbol),
        "past": _history(book, symbol, page, records) if page else None,
    }


def _records(book: Book, setups: Iterable[SetupView]) -> dict[str, list[str]]:
    """By setup what past trades say of it, each sentence only where it is said first."""
    told, records = set[str](), dict[str, list[str]]()
    for setup in setups:
        found = list(record_words(setup, book.family_record(setup.family)))
        known = SAID_ABOVE if found else NO_RECORD
        records[setup.setup_id] = [text for text in found if text not in told] or [known]
        told |= {*found}
    return records


def _history(book: Book, symbol: str, page: int, told: Mapping[str, Sequence[str]]) -> Context:
    """A page of a ticker's history, newest entry first, and what all of it amounts to but for the
    records that were `told`.
    """
    said = " ".join(chain.from_iterable(told.values()))
    stored = book.history(symbol)
    rows = [orjson.loads(row) for row in stored.rows] if stored else []
    results = [row["r_multiple"] for row in rows if row["r_multiple"] is not None]
    record, prices = book.ticker_record(symbol), book.kept_prices(symbol)
    own = orjson.loads(record)["records"] if record else []
    first_day = prices.first_day if prices else None
    return {
        "rows": rows[OCCURRENCES * (page - 1) : OCCURRENCES * page],
        "total": len(rows),
        "page": page,
        "pages": _pages_of(book, symbol),
        "results": histogram(Distribution.of(results)),
        "records": [one for one in own if one["summary"] not in said],
        "examples": examples(drawable(symbol, rows, first_day), OF_SYMBOL) if first_day else None,
        "available": stored is not None,
        "stopped": not is_covered(book, symbol) and any(row["outcome"] == "open" for row in rows),
    }


def _pages_of(book: Book, symbol: str) -> int:
    """How many pages a symbol's history has, at least one."""
    stored = book.history(symbol)
    return max(1, -(-len(stored.rows) // OCCURRENCES)) if stored else 1


def _page_number(visit: Visit, book: Book, symbol: str) -> int:
    """The page of the history that is asked for; the last one if there are not as many."""
    text = visit.request.query_params.get("page", "1")
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 1
    return min(number, _pages_of(book, symbol)) if number > 1 else 1


def _nothing_asked(_book: Book) -> Context:
    return {"text": "", "matches": (), "count": 0}


def _unknown(visit: Visit, web: WebServices, book: Book, symbol: str) -> Response:
    text, directory = symbol[:MAX_QUERY], web.services.directory(book)
    nearest = [directory.entry(near) or {} for near in directory.nearest(text)]
    hint = "" if nearest else " No symbol has a similar spelling."
    return web.pages.respond(
        "symbols.html",
        visit,
        refusal=PageRefusal(404, f"This night has no symbol {text}.{hint}"),
        night=web.pages.status(book),
        text=text,
        matches=_matches(visit, web, book, nearest),
        count=None,
    )


def _matches(visit: Visit, web: WebServices, book: Book, entries: Iterable[Entry]) -> list[Match]:
    """The symbols of some entries; which of them have setups is told with the scan alone."""
    counts = book.scan.counts if sees_scan(visit, web) else {}
    return [
        Match(entry["symbol"], company_name(entry), counts.get(entry["symbol"], 0))
        for entry in entries
    ]


def _path_of(symbol: str) -> str:
    return f"{SEARCH_PATH}/{quote(symbol, safe='')}"

"""The symbol pages: one for each ticker, with its setups and history, one for each of its past
trades, and the search that leads there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import quote

import orjson
from starlette.responses import RedirectResponse, Response

from mcp_server.charts.past import Past, past_words
from mcp_server.filters.directory import LONGEST
from mcp_server.http.responses import PRIVATE, answer_response
from mcp_server.operations.access import is_demo
from mcp_server.operations.answers import Answer
from mcp_server.operations.symbols import SYMBOL_PATTERN
from mcp_server.operations.watchlist import tracked_by
from mcp_server.presentation.absence import absence
from screener.web.market.charts import NO_TRADE
from screener.web.market.figures import histogram
from screener.web.market.watchlist import edit
from screener.web.site.access import NO_PLAN, sees_scan, sees_ticker
from screener.web.site.pages import Context, Page
from screener.web.site.refusals import Refusal
from screener.web.site.site import Site
from screener.web.site.visit import Visit, sign_in_address
from store.accounts.accounts import Account
from store.nights.book import Book, Coverage, Entry, company_name
from store.wire.examples import OF_SYMBOL, drawable, examples
from store.wire.families import Family
from store.wire.method import Distribution
from store.wire.view import SetupView, fresh_first

PATH, SEARCH_PATH, SUGGEST_PATH = "/symbols/{symbol}", "/symbols", "/symbols.json"
TRADE_PATH = "/symbols/{symbol}/trades/{trade}"

FOUND = 50
"""Most symbols that a search lists."""

SUGGESTED = 8
"""Most symbols that the search of the head suggests."""

OCCURRENCES = 100
"""Past trades on one page of a history."""


NO_CHANGE = Refusal(400, "This form only tracks or untracks a ticker.")


class Match(NamedTuple):
    """A symbol that a search found."""

    symbol: str
    name: str
    setups: int
    """0 for who may not see the scan."""


async def show(visit: Visit, site: Site) -> Page:
    """The page of a symbol, under its name in upper case."""
    symbol: str = visit.request.path_params["symbol"]
    if symbol != symbol.upper() and SYMBOL_PATTERN.fullmatch(symbol):
        query = visit.request.url.query
        return RedirectResponse(_path_of(symbol.upper()) + (f"?{query}" if query else ""))
    return await _show(visit, site, symbol)


async def change(visit: Visit, site: Site, account: Account) -> Page:
    """Track the ticker, or no longer track it."""
    symbol: str = visit.request.path_params["symbol"]
    if site.services.active_night.book.coverage(symbol) is None:
        return await _show(visit, site, symbol)
    edits = {"track": ([symbol], []), "untrack": ([], [symbol])}
    chosen = edits.get(visit.form.get("change", ""))
    if chosen is None:
        return await _show(visit, site, symbol, NO_CHANGE)
    try:
        await edit(site, account, *chosen)
    except Refusal as refusal:
        return await _show(visit, site, symbol, refusal)
    return RedirectResponse(visit.request.url.path, 303)


async def trade(visit: Visit, site: Site) -> Page:
    """The page of a past trade, with its chart where its bars are kept."""
    symbol: str = visit.request.path_params["symbol"]
    if not sees_ticker(visit, site, symbol, await tracked_by(visit.account, site.services)):
        return RedirectResponse(_path_of(symbol), 303)
    with site.services.active_night.pin() as book:
        past = Past.of(book, symbol, visit.request.path_params["trade"])
        if past is None:
            raise Refusal(404, NO_TRADE)
        return site.pages.respond(
            "trade.html",
            visit,
            night=site.pages.status(book),
            symbol=symbol,
            past=past,
            caption=past_words(book, past),
            prices=book.kept_prices(symbol),
            currency=book.currency(symbol),
        )


async def suggest(visit: Visit, site: Site) -> Page:
    """The symbols and names that a text which is being typed may mean, as JSON."""
    text = _asked(visit)
    with site.services.active_night.pin() as book:
        entries = site.services.directory(book).search(text)[:SUGGESTED] if text else []
    found = [{"symbol": entry["symbol"], "name": company_name(entry)} for entry in entries]
    return answer_response(Answer(orjson.dumps(found)), visit.request.scope["fields"], PRIVATE)


def _asked(visit: Visit) -> str:
    return visit.request.query_params.get("search", "").strip()[:LONGEST]


async def find(visit: Visit, site: Site) -> Page:
    """The symbols that a text may mean; the page of the one that it names."""
    text = _asked(visit)
    with site.services.active_night.pin() as book:
        if text and book.coverage(text.upper()) is not None:
            return RedirectResponse(_path_of(text.upper()), 303)
        if not text:
            return site.pages.show("symbols.html", visit, book, _nothing_asked)
        entries = site.services.directory(book).search(text)
        return site.pages.respond(
            "symbols.html",
            visit,
            night=site.pages.status(book),
            text=text,
            matches=_matches(visit, site, book, entries[:FOUND]),
            count=len(entries),
        )


async def _show(visit: Visit, site: Site, symbol: str, refusal: Refusal | None = None) -> Page:
    tracked = await tracked_by(visit.account, site.services)
    with site.services.active_night.pin() as book:
        coverage = book.coverage(symbol)
        if coverage is None:
            return _unknown(visit, site, book, symbol)
        whole = sees_ticker(visit, site, symbol, tracked)
        if not whole and not sees_scan(visit, site):
            if visit.account is None:
                return RedirectResponse(sign_in_address(visit.request), 303)
            raise Refusal(403, NO_PLAN)
        return site.pages.show(
            "symbol.html",
            visit,
            book,
            partial(_context, site),
            coverage=coverage,
            open=whole,
            tracked=symbol in tracked,
            page=_page_number(visit, book, symbol) if whole else None,
            refusal=refusal,
        )


def _context(
    site: Site, book: Book, coverage: Coverage, page: int | None, **_others: object
) -> Context:
    """What the page shows of a night; with a page of its history, for who may see the ticker."""
    symbol = coverage.symbol
    setups = fresh_first(book.views(symbol))
    entry = site.services.directory(book).entry(symbol) or {}
    facts = (entry.get(name) for name in ("asset_type", "exchange", "industry", "country"))
    return {
        "symbol": symbol,
        "name": company_name(entry),
        "facts": [fact for fact in facts if fact],
        "absence": absence(book, symbol),
        "setups": setups,
        "opposite": len({setup.directions for setup in setups}) > 1,
        "summaries": _summaries(book, setups),
        "drawable": book.prices(symbol) is not None,
        "bare": None if setups else past_words(book, Past(symbol)),
        "demo": is_demo(symbol, site.services.offer),
        "currency": book.currency(symbol),
        "past": _history(book, symbol, page) if page else None,
    }


def _summaries(book: Book, setups: Iterable[SetupView]) -> dict[str, Mapping[str, Any] | None]:
    """The record of each family of some setups; None without one."""
    families = {setup.family: book.family(Family(setup.family)) for setup in setups}
    return {family: orjson.loads(body)["track_record"] for family, body in families.items()}


def _history(book: Book, symbol: str, page: int) -> Context:
    """A page of a ticker's history, newest entry first, and what all of it amounts to."""
    stored = book.history(symbol)
    rows = [orjson.loads(row) for row in stored.rows] if stored else []
    results = [row["r_multiple"] for row in rows if row["r_multiple"] is not None]
    record, prices = book.ticker_record(symbol), book.kept_prices(symbol)
    first_day = prices.first_day if prices else None
    return {
        "rows": rows[OCCURRENCES * (page - 1) : OCCURRENCES * page],
        "total": len(rows),
        "page": page,
        "pages": _pages_of(book, symbol),
        "results": histogram(Distribution.of(results)),
        "records": orjson.loads(record)["records"] if record else (),
        "examples": examples(drawable(symbol, rows, first_day), OF_SYMBOL) if first_day else None,
        "available": stored is not None,
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


def _unknown(visit: Visit, site: Site, book: Book, symbol: str) -> Response:
    text, directory = symbol[:LONGEST], site.services.directory(book)
    nearest = [directory.entry(near) or {} for near in directory.nearest(text)]
    hint = "" if nearest else " No symbol has a similar spelling."
    return site.pages.respond(
        "symbols.html",
        visit,
        refusal=Refusal(404, f"This night has no symbol {text}.{hint}"),
        night=site.pages.status(book),
        text=text,
        matches=_matches(visit, site, book, nearest),
        count=None,
    )


def _matches(visit: Visit, site: Site, book: Book, entries: Iterable[Entry]) -> list[Match]:
    """The symbols of some entries; which of them have setups is told with the scan alone."""
    counts = book.scan.counts if sees_scan(visit, site) else {}
    return [
        Match(entry["symbol"], company_name(entry), counts.get(entry["symbol"], 0))
        for entry in entries
    ]


def _path_of(symbol: str) -> str:
    return f"{SEARCH_PATH}/{quote(symbol, safe='')}"

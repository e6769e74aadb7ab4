"""Charts: those of setups, symbols and past trades for pages, as PNGs in a few looks and as data.

Thumbnails, on which no past trade is marked, are for everybody who may see the scan; larger charts,
the bars behind them and past trades are for those who may see the ticker. Small pictures of the
trades that are examples of a family are for everybody, as its record is.
"""

from __future__ import annotations

from starlette.requests import Request

from mcp_server.calls.errors import ApiError, PageRefusal
from mcp_server.charts.chart_data import chart_data
from mcp_server.charts.charts import Subject
from mcp_server.charts.past import Past
from mcp_server.drawing.view import LOOKS, THEMES, USUAL, WIDTHS, ChartStyle
from mcp_server.http.responses import PRIVATE_HOUR, PUBLIC_HOUR, HttpResponse, answer_response
from mcp_server.operations.access import is_demo
from mcp_server.operations.answers import PNG, Answer
from mcp_server.operations.symbols import SYMBOL_PATTERN
from mcp_server.operations.watchlist import tracked_by
from screener.web.site.access import NO_PLAN, sees_scan, sees_ticker
from screener.web.site.pages import Page
from screener.web.site.services import WebServices
from screener.web.site.visit import Visit
from store.nights.book import Book, StoredSetup

PNG_PATH, DATA_PATH = "/symbols/{symbol}/chart.png", "/symbols/{symbol}/chart.json"

THUMBNAIL = min(WIDTHS)
"""The width of the picture that shows no more than the scan says."""

NO_LOOK = f"theme is one of {', '.join(THEMES)}, width one of {', '.join(map(str, WIDTHS))}."
NO_SETUP = "This night has no such setup; ids change every night."
NO_TRADE = "This night has no such trade."
NO_PRICES = "This chart cannot be drawn: its price history is not stored."
STRANGER = "Sign in to see this chart."
UNTRACKED = "Track this ticker to see its charts."


async def png(visit: Visit, web: WebServices) -> Page:
    """The picture of a setup, of a past trade, or if none is named, of the symbol."""
    symbol, look = symbol_of(visit.request), wanted_look(visit.request)
    scan = look.width == THUMBNAIL and "trade" not in visit.request.query_params
    services = web.services
    with services.active_night.pin() as book:
        if not (look.width == THUMBNAIL and _is_example(book, visit, symbol)):
            await _check(visit, web, symbol, scan=scan)
        subject = _subject(book, visit, symbol)
        body = await services.charts.cached(book, subject, look)
        if body is None:
            async with web.drawings:
                body = await _drawn(web, book, subject, look)
    return _response(visit, web, symbol, Answer(body, PNG))


async def data(visit: Visit, web: WebServices) -> Page:
    """What the interactive chart of a setup shows, as JSON."""
    symbol = symbol_of(visit.request)
    await _check(visit, web, symbol, scan=False)
    with web.services.active_night.pin() as book:
        body = chart_data(book, _setup(book, visit, symbol))
    if body is None:
        raise PageRefusal(404, NO_PRICES)
    return _response(visit, web, symbol, Answer(body))


async def _drawn(web: WebServices, book: Book, subject: Subject, look: ChartStyle) -> bytes:
    try:
        return await web.services.charts.png(book, subject, look)
    except ApiError as error:
        if error.code == "chart_unavailable":
            raise PageRefusal(404, NO_PRICES) from error
        words = "The service is busy. Try again in a moment."
        raise PageRefusal(error.status, words, error.retry_after or None) from error


def _is_example(book: Book, visit: Visit, symbol: str) -> bool:
    """Whether a picture is of a trade that is an example of its family, which everybody may see."""
    trade = visit.request.query_params.get("trade")
    shown = (row for found in book.examples().values() for row in found["shown"])
    return trade is not None and (symbol, trade) in {
        (row["symbol"], row["lineage_id"]) for row in shown
    }


async def _check(visit: Visit, web: WebServices, symbol: str, *, scan: bool) -> None:
    allowed = sees_scan(visit, web)
    if scan and allowed:
        return
    if sees_ticker(visit, web, symbol, await tracked_by(visit.account, web.services)):
        return
    if visit.account is None:
        raise PageRefusal(403, STRANGER)
    raise PageRefusal(403, UNTRACKED if allowed else NO_PLAN)


def _subject(book: Book, visit: Visit, symbol: str) -> Subject:
    query = visit.request.query_params
    if "setup_id" in query:
        return _setup(book, visit, symbol)
    past: Past | None = Past(symbol)
    if "trade" in query:
        past = Past.of(book, symbol, query["trade"])
    elif "lost" in query:
        past = Past.lost_by(book, symbol, query["lost"])
    if past is None:
        raise PageRefusal(404, NO_TRADE)
    return past


def _setup(book: Book, visit: Visit, symbol: str) -> StoredSetup:
    setup = book.setup(symbol, visit.request.query_params.get("setup_id", ""))
    if setup is None:
        raise PageRefusal(404, NO_SETUP)
    return setup


def _response(visit: Visit, web: WebServices, symbol: str, answer: Answer) -> HttpResponse:
    fields = visit.request.scope["fields"]
    if is_demo(symbol, web.services.offer):
        return answer_response(answer, fields, PUBLIC_HOUR)
    response = answer_response(answer, fields, PRIVATE_HOUR)
    response.headers.append((b"vary", b"Cookie"))
    # Else a page of somebody else could show it, and learn what is found here.
    response.headers.append((b"cross-origin-resource-policy", b"same-origin"))
    return response


def symbol_of(request: Request) -> str:
    """The symbol of an address, in upper case.

    Raises:
        PageRefusal: it cannot be a symbol.
    """
    symbol: str = request.path_params["symbol"]
    if not SYMBOL_PATTERN.fullmatch(symbol):
        raise PageRefusal(404, "A symbol is 1 to 24 letters, digits and dots.")
    return symbol.upper()


def wanted_look(request: Request) -> ChartStyle:
    """The look that a query asks for; without one, the usual.

    Raises:
        PageRefusal: there is no such look.
    """
    query = request.query_params
    theme, width = query.get("theme", USUAL.theme), query.get("width", str(USUAL.width))
    look = LOOKS.get((theme, width))
    if look is None:
        raise PageRefusal(400, NO_LOOK)
    return look

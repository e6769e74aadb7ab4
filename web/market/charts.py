"""Charts: those of setups, symbols and past trades for pages, as PNGs in a few looks and as data.

Thumbnails, on which no past trade is marked, are for everybody who may see the scan; larger charts,
the bars behind them and past trades are for those who may see the ticker.
"""

from __future__ import annotations

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.requests import Request

from mcp_server.calls.errors import ApiError
from mcp_server.charts.chart_data import chart_data
from mcp_server.charts.charts import QUEUE_LIMIT, Subject
from mcp_server.charts.past import Past, with_lines
from mcp_server.drawing import LOOKS, THEMES, USUAL, WIDTHS, Look
from mcp_server.http.responses import PRIVATE_HOUR, PUBLIC_HOUR, HttpResponse, answer_response
from mcp_server.operations.answers import PNG, Answer
from mcp_server.operations.symbols import SYMBOL_PATTERN
from store.nights.book import Book, StoredSetup
from web.site.access import NO_PLAN, Access
from web.site.refusals import Refusal
from web.site.site import Site
from web.site.visit import Visit

PNG_PATH, DATA_PATH = "/symbols/{symbol}/chart.png", "/symbols/{symbol}/chart.json"

DRAWINGS = QUEUE_LIMIT // 2
"""Drawings of all pages at once. A page asks for fifty pictures in one moment, which wait here; the
rest of the queue is for programs."""

THUMBNAIL = min(WIDTHS)
"""The width of the picture that shows no more than the scan says."""

NO_LOOK = f"theme is one of {', '.join(THEMES)}, and width one of {', '.join(map(str, WIDTHS))}."
NO_SETUP = "This night has no such setup; ids change every night."
NO_TRADE = "This night has no such trade."
NO_PRICES = "This chart cannot be drawn: its price history is not stored."
STRANGER = "Sign in to see this chart."
UNTRACKED = "Track this ticker to see its charts."


class SetupCharts:
    """The charts of setups, as pages load them."""

    def __init__(self, site: Site, access: Access) -> None:
        self._services = site.services
        self._access = access
        self._ledger = site.ledger
        self._room = CapacityLimiter(DRAWINGS)

    async def png(self, visit: Visit) -> HttpResponse:
        """The picture of a setup, of a past trade, or if none is named, of the symbol."""
        symbol, look = symbol_of(visit.request), look_of(visit.request)
        scan = look.width == THUMBNAIL and "trade" not in visit.request.query_params
        await self._check(visit, symbol, scan=scan)
        with self._services.active_night.pin() as book:
            png = await self._services.charts.cached(book, self._subject(book, visit, symbol), look)
        if png is None:
            png = await self._drawn(visit, symbol, look)
        return self._response(visit, symbol, Answer(png, PNG))

    async def _drawn(self, visit: Visit, symbol: str, look: Look) -> bytes:
        async with self._room:
            with self._services.active_night.pin() as book:
                subject = self._subject(book, visit, symbol)
                if isinstance(subject, Past):
                    subject = await run_sync(with_lines, subject, self._ledger)
                try:
                    return await self._services.charts.png(book, subject, look)
                except ApiError as error:
                    raise _refusal(error) from error

    async def data(self, visit: Visit) -> HttpResponse:
        """What the interactive chart of a setup shows, as JSON."""
        symbol = symbol_of(visit.request)
        await self._check(visit, symbol, scan=False)
        with self._services.active_night.pin() as book:
            body = chart_data(book, self._setup(book, visit, symbol))
        if body is None:
            raise Refusal(404, NO_PRICES)
        return self._response(visit, symbol, Answer(body))

    async def _check(self, visit: Visit, symbol: str, *, scan: bool) -> None:
        if (scan and self._access.scan(visit)) or await self._access.ticker(visit, symbol):
            return
        if visit.account is None:
            raise Refusal(403, STRANGER)
        raise Refusal(403, UNTRACKED if self._access.scan(visit) else NO_PLAN)

    def _subject(self, book: Book, visit: Visit, symbol: str) -> Subject:
        query = visit.request.query_params
        if "setup_id" in query:
            return self._setup(book, visit, symbol)
        past = Past.of(book, symbol, query["trade"]) if "trade" in query else Past(symbol)
        if past is None:
            raise Refusal(404, NO_TRADE)
        return past

    def _setup(self, book: Book, visit: Visit, symbol: str) -> StoredSetup:
        setup = book.setup(symbol, visit.request.query_params.get("setup_id", ""))
        if setup is None:
            raise Refusal(404, NO_SETUP)
        return setup

    def _response(self, visit: Visit, symbol: str, answer: Answer) -> HttpResponse:
        public = self._access.everybody(symbol)
        age = PUBLIC_HOUR if public else PRIVATE_HOUR
        response = answer_response(answer, visit.request.scope["fields"], age)
        if not public:
            response.headers.append((b"vary", b"Cookie"))
            # Else a page of somebody else could show it, and learn what is found here.
            response.headers.append((b"cross-origin-resource-policy", b"same-origin"))
        return response


def symbol_of(request: Request) -> str:
    """The symbol of an address, in upper case.

    Raises:
        Refusal: it cannot be a symbol.
    """
    symbol: str = request.path_params["symbol"]
    if not SYMBOL_PATTERN.fullmatch(symbol):
        raise Refusal(404, "A symbol is letters, digits and dots, such as AAPL or BRK.B.")
    return symbol.upper()


def look_of(request: Request) -> Look:
    """The look that a query asks for; without one, the usual.

    Raises:
        Refusal: there is no such look.
    """
    query = request.query_params
    look = LOOKS.get((query.get("theme", USUAL.theme), query.get("width", str(USUAL.width))))
    if look is None:
        raise Refusal(400, NO_LOOK)
    return look


def _refusal(error: ApiError) -> Refusal:
    if error.code == "chart_unavailable":
        return Refusal(404, NO_PRICES)
    wait = (error.details or {}).get("retry_after_seconds")
    return Refusal(error.status, "The service is busy. Try again in a moment.", wait)

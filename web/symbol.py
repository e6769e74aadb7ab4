"""The symbol pages: one for each ticker, and the search that leads there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import orjson
from anyio.to_thread import run_sync
from starlette.responses import RedirectResponse, Response

from mcp_server.operations.directory import LONGEST, Directory
from mcp_server.operations.past import Past, past_words, with_lines
from mcp_server.operations.symbols import SYMBOL_PATTERN
from store.accounts.accounts import Account
from store.nights.book import Book, Coverage, Entry, PerBook, company_name
from store.wire.families import Family
from store.wire.view import SetupView
from store.wire.words import FEW
from web.absences import Absences
from web.access import NO_PLAN, Access
from web.charts import NO_TRADE
from web.history import History, pages_of
from web.night_head import NightHead, NightPages
from web.pages import Context, Page
from web.refusals import Refusal
from web.return_paths import sign_in_address
from web.site import Site
from web.tracking import track
from web.visit import Visit

PATH, SEARCH_PATH = "/symbols/{symbol}", "/symbols"
TRADE_PATH = "/symbols/{symbol}/trades/{trade}"

FOUND = 50
"""Most symbols that a search lists."""


NOT_ASKED: Context = {"text": "", "matches": (), "count": 0}
"""What the search shows before it is asked for anything."""


@dataclass(frozen=True, slots=True)
class Match:
    """A symbol that a search found."""

    symbol: str
    name: str
    setups: int
    """0 for who may not see the scan."""


class SymbolPage:
    """What a night says of one ticker."""

    def __init__(self, site: Site, pages: NightPages, access: Access) -> None:
        self._site = site
        self._services = site.services
        self._pages = pages
        self._access = access
        self._absences = PerBook(Absences.of)

    async def show(self, visit: Visit) -> Page:
        """The page of a symbol, under its name in upper case."""
        symbol: str = visit.request.path_params["symbol"]
        if symbol != symbol.upper() and SYMBOL_PATTERN.fullmatch(symbol):
            return RedirectResponse(self._address(visit, symbol.upper()))
        return await self._page(visit, symbol)

    async def trade(self, visit: Visit) -> Response:
        """The page of a past trade, with its chart where its bars are kept."""
        symbol: str = visit.request.path_params["symbol"]
        if not await self._access.ticker(visit, symbol):
            return RedirectResponse(_path_of(symbol), 303)
        with self._services.active_night.pin() as book:
            past = Past.of(book, symbol, visit.request.path_params["trade"])
            if past is None:
                raise Refusal(404, NO_TRADE)
            return self._pages.respond(
                "trade.html",
                visit,
                night=NightHead.of(self._site, book),
                symbol=symbol,
                past=await run_sync(with_lines, past, self._site.ledger),
                words=past_words(book, past),
                prices=book.prices(symbol),
            )

    async def change(self, visit: Visit, account: Account) -> Page:
        """Track the ticker, or no longer track it."""
        symbol: str = visit.request.path_params["symbol"]
        if self._services.active_night.book.coverage(symbol) is None:
            return await self._page(visit, symbol)
        try:
            wanted = visit.form.get("change", "")
            await track(self._services.watchlist, account, symbol, wanted)
        except Refusal as refusal:
            return await self._page(visit, symbol, refusal)
        return RedirectResponse(visit.request.url.path, 303)

    async def find(self, visit: Visit) -> Page:
        """The symbols that a text may mean; the page of the one that it names."""
        text = visit.request.query_params.get("search", "").strip()[:LONGEST]
        with self._services.active_night.pin() as book:
            directory = self._services.directory(book)
            if text and book.coverage(text.upper()) is not None:
                return RedirectResponse(_path_of(text.upper()), 303)
            if not text:
                return self._pages.show("symbols.html", visit, book, lambda _: NOT_ASKED)
            found = directory.search(text)
            return self._pages.respond(
                "symbols.html",
                visit,
                night=NightHead.of(self._site, book),
                text=text,
                matches=self._matches(visit, book, found[:FOUND]),
                count=len(found),
            )

    async def _page(self, visit: Visit, symbol: str, refusal: Refusal | None = None) -> Page:
        tracked = await self._access.tracked(visit)
        with self._services.active_night.pin() as book:
            coverage = book.coverage(symbol)
            if coverage is None:
                return self._unknown(visit, book, self._services.directory(book), symbol)
            open_to_visitor = self._access.sees(visit, symbol, tracked)
            if not open_to_visitor and not self._access.scan(visit):
                if visit.account is None:
                    return RedirectResponse(sign_in_address(visit.request), 303)
                raise Refusal(403, NO_PLAN)
            return self._pages.show(
                "symbol.html",
                visit,
                book,
                self._shown,
                coverage=coverage,
                open=open_to_visitor,
                tracked=symbol in tracked,
                page=_page_number(visit, book, symbol) if open_to_visitor else None,
                refusal=refusal,
            )

    def _shown(
        self, book: Book, coverage: Coverage, page: int | None, **_others: object
    ) -> Context:
        symbol = coverage.symbol
        setups = book.views(symbol)
        return {
            "symbol": symbol,
            "entry": _listing(self._services.directory(book).entry(symbol) or {}),
            "absence": self._absences.of(book).words(coverage),
            "setups": setups,
            "opposite": len({setup.directions for setup in setups}) > 1,
            "summaries": _summaries(book, setups),
            "drawable": book.prices(symbol) is not None,
            "bare": None if setups else past_words(book, Past(symbol)),
            "demo": symbol in self._services.offer.demo_symbols,
            "past": History.of(book, symbol, page) if page else None,
            "few": FEW,
        }

    def _unknown(self, visit: Visit, book: Book, directory: Directory, symbol: str) -> Response:
        text = symbol[:LONGEST]
        nearest = [directory.entry(near) or {} for near in directory.nearest(text)]
        matches = self._matches(visit, book, nearest)
        words = f"This night has no symbol {text}."
        refusal = Refusal(404, words if matches else f"{words} No symbol has a similar spelling.")
        return self._pages.respond(
            "symbols.html",
            visit,
            refusal=refusal,
            night=NightHead.of(self._site, book),
            text=text,
            matches=matches,
            count=None,
        )

    def _matches(self, visit: Visit, book: Book, entries: Iterable[Entry]) -> list[Match]:
        """The symbols of some entries; which of them have setups is told with the scan alone."""
        sees_scan = self._access.scan(visit)
        return [
            Match(
                entry["symbol"],
                company_name(entry),
                book.scan.counts.get(entry["symbol"], 0) if sees_scan else 0,
            )
            for entry in entries
        ]

    @staticmethod
    def _address(visit: Visit, symbol: str) -> str:
        query = visit.request.url.query
        return _path_of(symbol) + (f"?{query}" if query else "")


def _summaries(book: Book, setups: Iterable[SetupView]) -> dict[str, Mapping[str, Any] | None]:
    """The record of each family of some setups; None without one."""
    families = {setup.family: book.family(Family(setup.family)) for setup in setups}
    return {family: orjson.loads(body)["track_record"] for family, body in families.items()}


def _path_of(symbol: str) -> str:
    return f"{SEARCH_PATH}/{quote(symbol, safe='')}"


def _listing(entry: Entry) -> Entry:
    names = ("asset_type", "exchange", "industry", "country")
    return {**{name: entry.get(name) for name in names}, "name": company_name(entry)}


def _page_number(visit: Visit, book: Book, symbol: str) -> int:
    """The page of the history that is asked for; the last one if there are not as many."""
    text = visit.request.query_params.get("page", "1")
    wanted = int(text) if text.isascii() and text.isdigit() and len(text) < 6 else 1
    return min(wanted, pages_of(book, symbol)) if wanted > 1 else 1

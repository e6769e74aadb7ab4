"""The Main watchlist, which is the list of tracked tickers, in the user's order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import RedirectResponse, Response

from mcp_server.operations.callers import TRACKED_CAPS
from mcp_server.operations.errors import ApiError
from mcp_server.operations.symbols import check_known, check_symbols, suggesting
from store.accounts.accounts import Account
from store.accounts.watchlist import OverCapError
from store.nights.book import Book
from store.wire.view import SetupView
from web.access import Access
from web.night_head import NightHead
from web.pages import Pages
from web.refusals import Refusal
from web.site import Site
from web.tracking import over_cap
from web.visit import Visit

PATH = "/watchlist"
STEPS = {"up": -1, "down": 1}
NAMED = 10
"""Most unknown symbols that a refusal names."""


@dataclass(frozen=True, slots=True)
class Ticker:
    """A line of the list."""

    symbol: str
    name: str
    known: bool
    """Whether the night names it, so that it has a page."""
    covered: bool
    setups: Sequence[SetupView]
    first: bool
    last: bool


class WatchlistPage:
    """The page that shows and changes the list."""

    def __init__(self, site: Site, pages: Pages) -> None:
        self._site = site
        self._services = site.services
        self._pages = pages
        self._access = Access(site)

    async def show(self, visit: Visit, account: Account) -> Response:
        """The list."""
        return await self._page(visit, account)

    async def change(self, visit: Visit, account: Account) -> Response:
        """Add, remove or move a ticker, depending on the button that was pressed."""
        try:
            place = await self._change(visit, account)
        except Refusal as refusal:
            return await self._page(visit, account, refusal)
        return RedirectResponse(f"{PATH}#{place}", 303)

    async def _change(self, visit: Visit, account: Account) -> str:
        form, watchlist = visit.form, self._services.watchlist
        for direction, steps in STEPS.items():
            if direction in form:
                symbol = form[direction]
                after = await watchlist.move(account.id, symbol, steps)
                return symbol if symbol in after else "list"
        if "remove" in form:
            await watchlist.edit(account.id, [], [form["remove"]], _cap(account))
            return "list"
        await self._add(account, form.get("add", ""))
        return "list"

    async def _add(self, account: Account, text: str) -> None:
        watchlist, cap = self._services.watchlist, _cap(account)
        try:
            symbols = check_symbols([word for word in re.split(r"[\s,;]+", text) if word])
            if not symbols:
                raise Refusal(400, "Type one symbol or several, such as AAPL, MSFT.")
            with self._services.active_night.pin() as book, suggesting(self._services, book):
                check_known(book, symbols, await watchlist.symbols(account.id))
            await watchlist.edit(account.id, symbols, [], cap)
        except ApiError as error:
            raise Refusal(400, _sentence(error)) from error
        except OverCapError as error:
            raise Refusal(400, over_cap(error)) from error

    async def _page(
        self, visit: Visit, account: Account, refusal: Refusal | None = None
    ) -> Response:
        services = self._services
        symbols = await services.watchlist.symbols(account.id)
        with services.active_night.pin() as book:
            tickers = self._tickers(book, symbols)
            night = NightHead.of(self._site, book)
        with_setup = [ticker for ticker in tickers if ticker.setups]
        chosen = visit.request.query_params.get("show") == "setups"
        return self._pages.respond(
            "watchlist.html",
            visit,
            refusal=refusal,
            typed=visit.form.get("add", "") if refusal else "",
            tickers=with_setup if chosen else tickers,
            sizes=(len(tickers), len(with_setup)),
            chosen=chosen,
            cap=_cap(account),
            pictures=self._access.scan(visit),
            night=night,
        )

    def _tickers(self, book: Book, symbols: Sequence[str]) -> list[Ticker]:
        name, last = self._services.directory(book).name, len(symbols) - 1
        return [
            Ticker(
                symbol=symbol,
                name=name(symbol),
                known=(found := book.coverage(symbol)) is not None,
                covered=found is not None and found.covered,
                setups=book.views(symbol),
                first=place == 0,
                last=place == last,
            )
            for place, symbol in enumerate(symbols)
        ]


def _cap(account: Account) -> int:
    return TRACKED_CAPS[account.plan]


def _sentence(error: ApiError) -> str:
    details = error.details or {}
    if error.code == "invalid_symbol":
        return "A symbol is letters, digits and dots, such as AAPL or BRK.B. Nothing was added."
    unknown = ", ".join(details.get("unknown", [])[:NAMED])
    meant = dict.fromkeys(near for found in details.get("nearest", {}).values() for near in found)
    hint = f" Perhaps you mean {' or '.join(list(meant)[:NAMED])}." if meant else ""
    return f"The service does not know {unknown}. Nothing was added.{hint}"

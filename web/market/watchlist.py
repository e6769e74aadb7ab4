"""The Main watchlist, which is the list of tracked tickers, in the user's order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from starlette.responses import RedirectResponse

from mcp_server.calls.callers import TRACKED_CAPS
from mcp_server.calls.errors import ApiError
from mcp_server.operations.symbols import check_known, check_symbols, suggesting
from store.accounts.accounts import Account
from store.accounts.watchlist import OverCapError
from store.nights.book import Book
from store.wire.view import SetupView
from web.site.access import sees_scan
from web.site.pages import Page
from web.site.refusals import Refusal
from web.site.site import Site
from web.site.visit import Visit

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


async def show(visit: Visit, site: Site, account: Account, refusal: Refusal | None = None) -> Page:
    """The list."""
    symbols = await site.services.watchlist.symbols(account.id)
    with site.services.active_night.pin() as book:
        name = site.services.directory(book).name
        tickers = [_ticker(book, symbol, name(symbol)) for symbol in symbols]
        night = site.pages.status(book)
    with_setup = [ticker for ticker in tickers if ticker.setups]
    chosen = visit.request.query_params.get("show") == "setups"
    return site.pages.respond(
        "watchlist.html",
        visit,
        refusal=refusal,
        typed=visit.form.get("add", "") if refusal else "",
        tickers=with_setup if chosen else tickers,
        symbols=symbols,
        sizes=(len(tickers), len(with_setup)),
        chosen=chosen,
        cap=TRACKED_CAPS[account.plan],
        pictures=sees_scan(visit, site),
        night=night,
    )


async def change(visit: Visit, site: Site, account: Account) -> Page:
    """Add, remove or move a ticker, depending on the button that was pressed."""
    try:
        place = await _change(visit, site, account)
    except Refusal as refusal:
        return await show(visit, site, account, refusal)
    return RedirectResponse(f"{PATH}#{place}", 303)


async def edit(site: Site, account: Account, added: Sequence[str], removed: Sequence[str]) -> None:
    """Put known symbols on the list, or take symbols off.

    Raises:
        Refusal: the list cannot grow so much.
    """
    try:
        await site.services.watchlist.edit(account.id, added, removed, TRACKED_CAPS[account.plan])
    except OverCapError as error:
        if not error.cap:
            raise Refusal(400, "Your plan tracks no tickers.") from error
        words = (
            f"That would make {error.count} tickers, and your plan allows {error.cap}. "
            "Remove some from your watchlist first."
        )
        raise Refusal(400, words) from error


async def _change(visit: Visit, site: Site, account: Account) -> str:
    """Do what the form asks; the anchor of the page at which to go on."""
    form = visit.form
    for direction, steps in STEPS.items():
        if direction in form:
            symbol = form[direction]
            after = await site.services.watchlist.move(account.id, symbol, steps)
            return symbol if symbol in after else "list"
    if "remove" in form:
        await edit(site, account, [], [form["remove"]])
    else:
        await edit(site, account, await _known(site, account, form.get("add", "")), [])
    return "list"


async def _known(site: Site, account: Account, text: str) -> Sequence[str]:
    """The symbols that a text names, all of them known."""
    services = site.services
    try:
        symbols = check_symbols([word for word in re.split(r"[\s,;]+", text) if word])
        if not symbols:
            raise Refusal(400, "Type one symbol or several, such as AAPL, MSFT.")
        with services.active_night.pin() as book:
            async with suggesting(services, book):
                check_known(book, symbols, await services.watchlist.symbols(account.id))
    except ApiError as error:
        raise Refusal(400, _sentence(error)) from error
    return symbols


def _ticker(book: Book, symbol: str, name: str) -> Ticker:
    coverage = book.coverage(symbol)
    return Ticker(
        symbol=symbol,
        name=name,
        known=coverage is not None,
        covered=coverage is not None and coverage.covered,
        setups=book.views(symbol),
    )


def _sentence(error: ApiError) -> str:
    details = error.details or {}
    if error.code == "invalid_symbol":
        return "A symbol is letters, digits and dots, such as AAPL or BRK.B. Nothing was added."
    unknown = ", ".join(details.get("unknown", [])[:NAMED])
    meant = dict.fromkeys(near for found in details.get("nearest", {}).values() for near in found)
    hint = f" Perhaps you mean {' or '.join(list(meant)[:NAMED])}." if meant else ""
    return f"The service does not know {unknown}. Nothing was added.{hint}"

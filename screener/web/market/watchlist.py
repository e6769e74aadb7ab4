"""The Main watchlist, which is the list of tracked tickers, in the user's order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.responses import RedirectResponse

from mcp_server.calls.errors import ApiError, PageRefusal
from mcp_server.filters.symbol_lists import WRITERS
from mcp_server.operations.access import cap_of, check_cap
from mcp_server.operations.watchlist import Imported, TrackedList, tracked_by
from screener.web.site.access import sees_scan
from screener.web.site.pages import Page, download
from screener.web.site.services import WebServices
from screener.web.site.visit import Visit
from store.accounts.accounts import Account
from store.nights.book import Book
from store.wire.view import SetupView, fresh_first

PATH, EXPORT_PATH = "/watchlist", "/watchlist/export"
STEPS = {"up": -1, "down": 1}
FILES = {
    "tradingview": ("watchlist.txt", "text/plain; charset=utf-8"),
    "csv": ("watchlist.csv", "text/csv; charset=utf-8"),
}
"""The name and the media type of a download, by its form."""


@dataclass(frozen=True, slots=True)
class Ticker:
    """A line of the list."""

    symbol: str
    name: str
    known: bool
    """Whether the night names it, so that it has a page."""
    covered: bool
    setups: Sequence[SetupView]
    currency: str
    close: float | None
    """The last close; None if the night keeps no bars of it."""
    change_pct: float | None
    """From the close before; None without one."""


async def show(
    visit: Visit,
    web: WebServices,
    account: Account,
    refusal: PageRefusal | None = None,
    report: Imported | None = None,
) -> Page:
    """The list."""
    symbols = await tracked_by(account, web.services)
    with web.services.active_night.pin() as book:
        name = web.services.directory(book).name
        tickers = [_ticker(book, symbol, name(symbol)) for symbol in symbols]
        night = web.pages.status(book)
    with_setup = [ticker for ticker in tickers if ticker.setups]
    chosen = visit.request.query_params.get("show") == "setups"
    return web.pages.respond(
        "watchlist.html",
        visit,
        refusal=refusal,
        report=report,
        typed=visit.typed("add") if refusal or (report and not report.edited.added) else "",
        tickers=with_setup if chosen else tickers,
        symbols=symbols,
        sizes=(len(tickers), len(with_setup)),
        chosen=chosen,
        cap=cap_of(account),
        pictures=sees_scan(visit, web),
        night=night,
    )


async def change(visit: Visit, web: WebServices, account: Account) -> Page:
    """Add, remove or move a ticker, depending on the button that was pressed."""
    form, anchor = visit.form, "list"
    direction = next((name for name in STEPS if name in form), None)
    if direction is not None:
        symbol = form[direction]
        with _changing(web, account) as own:
            moved = await own.move(symbol, STEPS[direction])
        anchor = symbol if symbol in moved.after else anchor
    elif "remove" in form:
        await edit(web, account, [], [form["remove"]])
    else:
        text = next((form[name] for name in ("file", "list", "add") if form.get(name)), "")
        if report := await _add(web, account, text):
            return await show(visit, web, account, report=report)
    return RedirectResponse(f"{PATH}#{anchor}", 303)


async def export(visit: Visit, web: WebServices, account: Account) -> Page:
    """The list as a file for another program."""
    form = visit.request.query_params.get("format", "tradingview")
    if form not in FILES:
        raise PageRefusal(400, f"format is {' or '.join(FILES)}.")
    name, media_type = FILES[form]
    symbols = await tracked_by(account, web.services)
    with web.services.active_night.pin() as book:
        text = WRITERS[form](symbols, web.services.directory(book))
    return download(visit, text, media_type, name)


async def edit(
    web: WebServices, account: Account, added: Sequence[str], removed: Sequence[str]
) -> None:
    """Put known symbols on the list, or take symbols off.

    Raises:
        PageRefusal: a symbol is none, or the list cannot grow so much.
    """
    with _changing(web, account) as own:
        await own.edit(added, removed)


@contextmanager
def _changing(web: WebServices, account: Account) -> Iterator[TrackedList]:
    """The list of an account; a refusal of a change is told on the page."""
    services = web.services
    try:
        with services.active_night.pin() as book:
            yield TrackedList(account, book, services.directory(book), services.watchlist)
    except ApiError as error:
        full = error.code == "ticker_cap_exceeded" and (error.details or {}).get("cap")
        way_out = " Remove some from your watchlist first." if full else ""
        raise PageRefusal(400, error.message + way_out) from error


async def _add(web: WebServices, account: Account, text: str) -> Imported | None:
    """Put what a text names at the end of the list; what to tell if it was not all added.

    Raises:
        PageRefusal: the text names no symbol or too many, or the plan tracks none.
    """
    with _changing(web, account) as own:
        check_cap(account, 1)
        done = await own.import_text(text)
    return done if done.unknown or done.over_cap else None


def _ticker(book: Book, symbol: str, name: str) -> Ticker:
    coverage, prices = book.coverage(symbol), book.prices(symbol)
    # As they are written: each is the nearest number of 32 bits to a price.
    closes = [float(str(close)) for close in prices.close[-2:]] if prices else []
    return Ticker(
        symbol=symbol,
        name=name,
        known=coverage is not None,
        covered=coverage is not None and coverage.covered,
        setups=fresh_first(book.views(symbol)),
        currency=book.currency(symbol),
        close=closes[-1] if closes else None,
        change_pct=100 * (closes[1] / closes[0] - 1) if closes[1:] else None,
    )

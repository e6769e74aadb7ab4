"""The tracked tickers of the calling account."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from mcp_server.arguments import Arguments, SymbolsArguments, check_symbols
from mcp_server.calls import Answer, Call
from mcp_server.errors import ApiError
from store.book import Book
from store.watchlist import OverCapError


async def list_tracked_tickers(call: Call[Arguments]) -> Answer:
    """The tracked tickers in the user's order, and the cap."""
    tracked = await call.services.watchlist.symbols(call.account.id)
    return _tickers(call.book, tracked, call.caller.cap)


async def set_tracked_tickers(call: Call[SymbolsArguments]) -> Answer:
    """Replace the whole tracked list, all or nothing."""
    symbols = check_symbols(call.arguments.symbols)
    watchlist = call.services.watchlist
    check_known(call.book, symbols, await watchlist.symbols(call.account.id))
    try:
        after = await watchlist.replace(call.account.id, symbols, call.caller.cap)
    except OverCapError as error:
        raise over_cap(error) from error
    return _tickers(call.book, after, call.caller.cap)


def check_known(book: Book, symbols: Sequence[str], tracked: Sequence[str]) -> None:
    """Refuse symbols that neither the night nor the account's own list knows.

    Raises:
        ApiError: `unknown_symbol`, listing them.
    """
    unknown = [s for s in symbols if s not in tracked and book.coverage(s) is None]
    if unknown:
        raise ApiError("unknown_symbol", details={"unknown": unknown})


def over_cap(error: OverCapError) -> ApiError:
    """The refusal of a list that does not fit."""
    return ApiError(
        "ticker_cap_exceeded",
        f"{error.count} symbols do not fit the cap of {error.cap}; nothing changed.",
        details={"cap": error.cap, "count": error.count},
    )


def _tickers(book: Book, symbols: Sequence[str], cap: int) -> Answer:
    tickers = [
        {
            "symbol": symbol,
            "covered": (known := book.coverage(symbol)) is not None and known.covered,
        }
        for symbol in symbols
    ]
    return Answer(orjson.dumps({"tickers": tickers, "count": len(tickers), "cap": cap}))

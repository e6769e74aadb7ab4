"""The tracked tickers of the calling account."""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from mcp_server.arguments import (
    Arguments,
    EditArguments,
    SymbolsArguments,
    check_edit,
    check_symbols,
)
from mcp_server.calls import Answer, Call
from mcp_server.errors import ApiError
from store.book import Book
from store.watchlist import OverCapError


async def list_tracked_tickers(call: Call[Arguments]) -> Answer:
    """The tracked tickers in the user's order, and the cap."""
    tracked = await call.services.watchlist.symbols(call.account.id, call.caller.changes)
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


async def edit_tracked_tickers(call: Call[EditArguments]) -> Answer:
    """Remove, then add; all or nothing."""
    add, remove = check_edit(call.arguments.add, call.arguments.remove)
    watchlist = call.services.watchlist
    check_known(call.book, add, await watchlist.symbols(call.account.id))
    try:
        after = await watchlist.edit(call.account.id, add, remove, call.caller.cap)
    except OverCapError as error:
        raise over_cap(error) from error
    return _tickers(call.book, after, call.caller.cap)


async def me(call: Call[Arguments]) -> Answer:
    """The calling account: its key, plan, limits and how many tickers it tracks."""
    holder, offer = call.holder, call.services.offer
    quotas = call.services.limiter.quotas
    tracked = await call.services.watchlist.symbols(holder.account.id)
    body = {
        "key": {
            "prefix": holder.key.prefix,
            "name": holder.key.name,
            "created_at": holder.key.created_at,
        },
        "plan": "beta" if offer.beta else holder.account.plan,
        "limits": {
            "tracked_tickers": call.caller.cap,
            "requests_per_minute": quotas.key_per_minute,
            "requests_per_day": quotas.key_per_day,
        },
        "tracked_ticker_count": len(tracked),
        "docs_url": offer.docs_url,
        "mcp_url": offer.mcp_url,
    }
    return Answer(orjson.dumps(body))


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
        details={"cap": error.cap},
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

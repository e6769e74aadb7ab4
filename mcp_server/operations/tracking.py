"""The tracked tickers of the calling account."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from mcp_server.operations.answers import Answer
from mcp_server.operations.arguments import (
    Arguments,
    EditArguments,
    SymbolsArguments,
    check_edit,
    check_symbols,
)
from mcp_server.operations.calls import Call
from mcp_server.operations.errors import ApiError
from store.book import Book
from store.watchlist import OverCapError


async def list_tracked_tickers(call: Call[Arguments]) -> Answer:
    """The tracked tickers in the user's order, and the cap."""
    return _tickers(call, await call.services.principals.tracked(call.principal))


async def set_tracked_tickers(call: Call[SymbolsArguments]) -> Answer:
    """Replace the whole tracked list, all or nothing."""
    symbols = check_symbols(call.arguments.symbols)
    watchlist, account = call.services.watchlist, call.principal.account
    check_known(call.book, symbols, await watchlist.symbols(account.id))
    try:
        after = await watchlist.replace(account.id, symbols, call.cap)
    except OverCapError as error:
        raise over_cap(error) from error
    return _tickers(call, after)


async def edit_tracked_tickers(call: Call[EditArguments]) -> Answer:
    """Remove, then add; all or nothing."""
    add, remove = check_edit(call.arguments.add, call.arguments.remove)
    watchlist, account = call.services.watchlist, call.principal.account
    check_known(call.book, add, await watchlist.symbols(account.id))
    try:
        after = await watchlist.edit(account.id, add, remove, call.cap)
    except OverCapError as error:
        raise over_cap(error) from error
    return _tickers(call, after)


async def me(call: Call[Arguments]) -> Answer:
    """The calling account: its key, plan, limits and how many tickers it tracks."""
    account, key = call.principal.account, call.principal.key
    offer, quotas = call.services.offer, call.services.limiter.quotas
    tracked = await call.services.principals.tracked(call.principal)
    body = {
        "key": {
            "prefix": key.prefix,
            "name": key.name,
            "created_at": key.created_at,
            "expires_at": key.expires_at,
            "read_only": key.read_only,
        },
        "plan": "beta" if offer.beta else account.plan,
        "limits": {
            "tracked_tickers": call.cap,
            "requests_per_minute": quotas.key_per_minute,
            "requests_per_day": quotas.key_per_day,
            "account_requests_per_minute": quotas.account_per_minute,
            "account_requests_per_day": quotas.account_per_day,
        },
        "tracked_ticker_count": len(tracked),
        "docs_url": offer.docs_url,
        "mcp_url": offer.mcp_url,
    }
    return call.answer(orjson.dumps(body))


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


def _tickers(call: Call[Any], symbols: Sequence[str]) -> Answer:
    found = ((symbol, call.book.coverage(symbol)) for symbol in symbols)
    tickers = [{"symbol": s, "covered": known is not None and known.covered} for s, known in found]
    body = {"tickers": tickers, "count": len(tickers), "cap": call.cap}
    return call.answer(orjson.dumps(body))

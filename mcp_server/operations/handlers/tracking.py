"""The tracked tickers of the calling account."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Any

import orjson

from mcp_server.calls.errors import ApiError
from mcp_server.calls.surfaces import NO_CONDITIONS
from mcp_server.operations.answers import Answer
from mcp_server.operations.arguments import (
    Arguments,
    EditArguments,
    SymbolsArguments,
)
from mcp_server.operations.calls import Call
from mcp_server.operations.handlers.consent import check_consent
from mcp_server.operations.symbols import (
    check_edit,
    check_known,
    check_some,
    check_symbols,
    suggesting,
)
from store.accounts.watchlist import ChangedError, Edited, OverCapError
from store.nights.book import Book


async def list_tracked_tickers(call: Call[Arguments]) -> Answer:
    """The tracked tickers in the user's order, each with its setups in short, and the cap."""
    return _list(call, await call.services.principals.tracked(call.principal))


async def set_tracked_tickers(call: Call[SymbolsArguments]) -> Answer:
    """Replace the whole tracked list, all or nothing."""
    watchlist, account = call.services.watchlist, call.principal.account
    with suggesting(call.services, call.book):
        symbols = check_symbols(call.arguments.symbols)
        before = await watchlist.symbols(account.id)
        _check_unchanged(call, before)
        check_known(call.book, symbols, before)
    _check_fits(symbols, call.cap)
    check_consent(call.conditions.consent, before, symbols)
    expected = None if call.conditions == NO_CONDITIONS else before
    return await _edited(call, watchlist.replace(account.id, symbols, call.cap, expected=expected))


async def edit_tracked_tickers(call: Call[EditArguments]) -> Answer:
    """Remove, then add; all or nothing."""
    with suggesting(call.services, call.book):
        add, remove = check_edit(call.arguments.add, call.arguments.remove)
        return await _edit(call, add, remove)


async def add_tickers(call: Call[SymbolsArguments]) -> Answer:
    """Append tickers that are not on the list yet; all or nothing."""
    with suggesting(call.services, call.book):
        return await _edit(call, check_some(call.arguments.symbols), [])


async def remove_tickers(call: Call[SymbolsArguments]) -> Answer:
    """Remove tickers from the list; those not on it are ignored."""
    with suggesting(call.services, call.book):
        return await _edit(call, [], check_some(call.arguments.symbols))


async def _edit(call: Call[Any], add: Sequence[str], remove: Sequence[str]) -> Answer:
    watchlist, account = call.services.watchlist, call.principal.account
    before = await watchlist.symbols(account.id)
    _check_unchanged(call, before)
    check_known(call.book, add, before)
    gone = frozenset(remove)
    after = list(dict.fromkeys([*(symbol for symbol in before if symbol not in gone), *add]))
    check_consent(call.conditions.consent, before, after)
    # What an edit drops it names, so another change in between costs no other ticker.
    expected = before if call.conditions.unchanged is not None else None
    return await _edited(call, watchlist.edit(account.id, add, remove, call.cap, expected=expected))


async def _edited(call: Call[Any], change: Awaitable[Edited]) -> Answer:
    try:
        edited = await change
    except OverCapError as error:
        raise over_cap(error) from error
    except ChangedError as error:
        raise ApiError("precondition_failed") from error
    covered = ((symbol, _is_covered(call.book, symbol)) for symbol in edited.after)
    body = {
        "tickers": [{"symbol": symbol, "covered": known} for symbol, known in covered],
        "count": len(edited.after),
        "cap": call.cap,
        "added": edited.added,
        "removed": edited.removed,
    }
    return call.answer(orjson.dumps(body))


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


def over_cap(error: OverCapError) -> ApiError:
    """The refusal of a list that does not fit."""
    return ApiError(
        "ticker_cap_exceeded",
        f"{error.count} symbols exceed the cap of {error.cap}; nothing changed.",
        details={"cap": error.cap},
    )


def _check_unchanged(call: Call[Any], before: Sequence[str]) -> None:
    unchanged = call.conditions.unchanged
    if unchanged is not None and not unchanged(_list(call, before).tag):
        raise ApiError("precondition_failed")


def _check_fits(symbols: Sequence[str], cap: int) -> None:
    # Nobody is asked about a list that is refused anyway.
    if len(symbols) > cap:
        raise over_cap(OverCapError(len(symbols), cap))


def _list(call: Call[Any], symbols: Sequence[str]) -> Answer:
    book = call.book
    items = (
        b'{"symbol":%b,"covered":%b,"setups":[%b]}'
        % (orjson.dumps(symbol), orjson.dumps(_is_covered(book, symbol)), book.briefs(symbol))
        for symbol in symbols
    )
    count = orjson.dumps({"count": len(symbols), "cap": call.cap})[1:]
    return call.answer(b'{"tickers":[%b],%b' % (b",".join(items), count))


def _is_covered(book: Book, symbol: str) -> bool:
    known = book.coverage(symbol)
    return known is not None and known.covered

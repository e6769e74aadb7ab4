"""The tracked tickers of the calling account, and the account itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson
import xxhash

from mcp_server.calls.callers import Consent, ConsentNeededError
from mcp_server.calls.errors import ApiError
from mcp_server.filters.symbol_lists import WRITERS
from mcp_server.operations.answers import Answer
from mcp_server.operations.arguments import (
    Arguments,
    EditArguments,
    ExportArguments,
    ImportArguments,
    SymbolsArguments,
)
from mcp_server.operations.handlers.scan import is_covered, uncovered
from mcp_server.operations.services import Call
from mcp_server.operations.symbols import check_symbols
from mcp_server.operations.watchlist import Guard, TrackedList
from store.accounts.watchlist import Change, Edited
from store.nights.book import Book
from store.wire.words import NO_NIGHT, named

MAX_NAMED = 20
"""Most tickers that a question names."""


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


async def list_tracked_tickers(call: Call[Arguments]) -> Answer:
    """The tracked tickers in the user's order, each with its setups in short, and the cap."""
    return _list(call, await call.services.principals.tracked(call.principal))


async def set_tracked_tickers(call: Call[SymbolsArguments]) -> Answer:
    """Replace the whole tracked list, all or nothing."""
    edited = await _own(call).replace(call.arguments.symbols)
    return call.answer(orjson.dumps(_fields(call, edited, edited.after)))


async def edit_tracked_tickers(call: Call[EditArguments]) -> Answer:
    """Remove, then add; all or nothing."""
    if not call.arguments.model_fields_set:
        raise ApiError("bad_request", "Name add or remove, a list of symbols each.")
    return await _edit(call, call.arguments.add, call.arguments.remove)


async def add_tickers(call: Call[SymbolsArguments]) -> Answer:
    """Append tickers that are not on the list yet; all or nothing."""
    return await _edit(call, add=call.arguments.symbols, whole=False)


async def remove_tickers(call: Call[SymbolsArguments]) -> Answer:
    """Remove tickers from the list; those not on it are ignored."""
    return await _edit(call, remove=call.arguments.symbols, whole=False)


async def import_tickers(call: Call[ImportArguments]) -> Answer:
    """Append what a list of another program names, as far as it is known and there is room."""
    done = await _own(call).import_text(call.arguments.text)
    unknown = [{"given": given, "nearest": near} for given, near in done.unknown.items()]
    more = {"unknown": unknown, "over_cap": done.over_cap}
    return call.answer(orjson.dumps(_fields(call, done.edited, done.edited.added) | more))


async def export_tickers(call: Call[ExportArguments]) -> Answer:
    """The tracked tickers as a text for other programs."""
    tracked = await call.services.principals.tracked(call.principal)
    text = WRITERS[call.arguments.format](tracked, call.services.directory(call.book))
    body = {"format": call.arguments.format, "count": len(tracked), "text": text}
    return call.answer(orjson.dumps(body))


async def _edit(
    call: Call[Any], add: Sequence[str] = (), remove: Sequence[str] = (), *, whole: bool = True
) -> Answer:
    """Change the list by symbols as sent; without any it stays as it is. The answer has the whole
    list, or what changed alone.
    """
    fields = _fields(call, await _own(call).edit(add, remove), check_symbols(add))
    if not whole:
        del fields["tickers"]
    return call.answer(orjson.dumps(fields))


def _own(call: Call[Any]) -> TrackedList:
    """The list of the calling account."""
    services, book = call.services, call.book
    directory, guard = services.directory(book), _guard(call)
    return TrackedList(call.principal.account, book, directory, services.watchlist, guard)


def _guard(call: Call[Any]) -> Guard:
    """Lets a change through if the list is the one that the caller has seen, and if the user agrees
    to what it drops. Nobody is asked about a change that is refused anyway.
    """
    unchanged, consent = call.conditions.unchanged, call.conditions.consent

    def guarded(change: Change) -> Change:
        def checked(before: Sequence[str]) -> Sequence[str]:
            if unchanged is not None and not unchanged(_list(call, before).tag):
                raise ApiError("precondition_failed")
            after = change(before)
            _check_consent(consent, before, after)
            return after

        return checked

    return guarded


def _check_consent(consent: Consent | None, before: Sequence[str], symbols: Sequence[str]) -> None:
    """Ask the user before their list loses a ticker, where the client can ask.

    Raises:
        ConsentNeededError: the user was not asked, or about another change.
        ApiError: `precondition_failed`; the user does not agree.
    """
    lost = [symbol for symbol in before if symbol not in symbols]
    if consent is None or not lost:
        return
    change = xxhash.xxh3_128_hexdigest(orjson.dumps([before, symbols]))
    if consent.given is None or consent.to != change:
        named = ", ".join(lost[:MAX_NAMED]) + (" and others" if len(lost) > MAX_NAMED else "")
        question = (
            f"This drops {len(lost)} of {len(before)} tracked tickers: {named}. The new list has "
            f"{len(symbols)}. Continue?"
        )
        raise ConsentNeededError(question, change)
    if not consent.given:
        closed = "The question was closed without an answer; nothing changed."
        declined = "The user does not want to drop these tickers; nothing changed."
        raise ApiError(
            "precondition_failed",
            closed if consent.closed else declined,
            tool_fix="Ask the user what the list should be. If they cannot answer here, they can "
            "change it under /watchlist.",
        )


def _fields(call: Call[Any], edited: Edited, asked: Sequence[str]) -> dict[str, Any]:
    """What became of the list; of what was asked for, it names what gives no setup for now."""
    return {
        "tickers": [{"symbol": s, "covered": is_covered(call.book, s)} for s in edited.after],
        "count": len(edited.after),
        "cap": call.cap,
        "added": edited.added,
        "removed": edited.removed,
        "not_covered": uncovered(call.book, asked),
    }


def _list(call: Call[Any], symbols: Sequence[str]) -> Answer:
    book = call.book
    items = (
        b'{"symbol":%b,"covered":%b,"setups":[%b]}'
        % (orjson.dumps(symbol), orjson.dumps(is_covered(book, symbol)), book.briefs(symbol))
        for symbol in symbols
    )
    tail: dict[str, Any] = {"count": len(symbols), "cap": call.cap}
    if why := _why_no_setup(book, symbols):
        tail["notes"] = [why]
    return call.answer(b'{"tickers":[%b],%b' % (b",".join(items), orjson.dumps(tail)[1:]))


def _why_no_setup(book: Book, symbols: Sequence[str]) -> str:
    """Why a list has no setup; empty if it has one."""
    if book.session is None:
        return NO_NIGHT
    if not symbols:
        return "The watchlist is empty: no ticker is tracked yet."
    if any(map(book.scan.counts.get, symbols)):
        return ""
    absent = uncovered(book, symbols)
    more = f" It does not cover {named(absent, MAX_NAMED)}." if absent else ""
    return f"No ticker of the watchlist has a setup in this night.{more}"

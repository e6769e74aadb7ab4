"""Symbols as a caller sends them: their spelling, whether the night knows them, what may be meant,
and the refusal of one that the account does not track.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from mcp_server.calls.callers import Surface
from mcp_server.calls.errors import ApiError
from mcp_server.filters.symbol_search import SymbolSearch, nearest_of
from mcp_server.operations.access import cap_of
from mcp_server.operations.services import Services
from store.accounts.keys import Principal

SYMBOL_PATTERN = re.compile(r"[A-Za-z0-9.]{1,24}")

SHOWN = 64
"""Characters of a symbol that is not one, as it is named."""

ROUTES = "PUT or PATCH /tickers (or the tool set_tracked_tickers; it and PUT take the whole list)"


def check_symbols(raw: Sequence[str]) -> list[str]:
    """Upper-case the symbols and drop repeats, keeping the order.

    Raises:
        ApiError: `invalid_symbol`, listing each symbol that is not letters, digits and dots.
    """
    given = dict.fromkeys(symbol.strip() for symbol in raw)
    rejected = [symbol[:SHOWN] for symbol in given if not SYMBOL_PATTERN.fullmatch(symbol)]
    if rejected:
        several = (
            "An item of the list has several symbols in one text; each is an item of its own. "
            "Nothing changed."
        )
        message = several if any(map(_is_several, rejected)) else None
        raise ApiError("invalid_symbol", message, details={"rejected": rejected})
    return list(dict.fromkeys(symbol.upper() for symbol in given))


def _is_several(text: str) -> bool:
    parts = re.split(r"[,;|\s]+", text.strip(",;| "))
    return len(parts) > 1 and all(map(SYMBOL_PATTERN.fullmatch, parts))


@asynccontextmanager
async def suggesting(directory: SymbolSearch) -> AsyncIterator[None]:
    """Has a refusal of symbols name the known ones that are nearest to each."""
    try:
        yield
    except ApiError as error:
        details = error.details or {}
        wrong = [*details.get("rejected", ()), *details.get("unknown", ())]
        if nearest := await nearest_of(directory, wrong):
            error.details = {**details, "nearest": nearest}
        raise


NO_SETUP = (
    "It has no setup tonight, at most past trades: unless these are wanted, leave it out or use "
    "the symbol that the user meant."
)


def not_tracked(
    symbol: str, services: Services, surface: Surface, principal: Principal, count: int
) -> ApiError:
    """The `ticker_not_tracked` of a symbol, for an account that tracks so many. Its way out costs
    no other ticker.
    """
    cap = cap_of(principal.account)
    free = max(0, cap - count)
    slots = f"{free} of {cap} {'slot is' if free == 1 else 'slots are'} free"
    book = services.active_night.book
    coverage = book.coverage(symbol)
    nearest = [] if coverage and coverage.covered else services.directory(book).nearest(symbol)
    # For programs, which read no sentence: whether the symbol could be tracked.
    details = {"known": coverage is not None, **({"nearest": nearest} if nearest else {})}
    if coverage is None:
        why = f"{slots}, but this symbol cannot be tracked"
        return ApiError(
            "ticker_not_tracked",
            "This symbol is not tracked, and the night does not cover it.",
            fix=f"{why}: check it against GET /universe.",
            tool_fix=f"{why}: leave the list as it is and use a known symbol that the user means.",
            details=details,
        )
    fix, tool_fix = _way_out(free, surface, read_only=principal.key.read_only)
    past = "" if coverage.covered else f"{NO_SETUP} "
    return ApiError(
        "ticker_not_tracked",
        None if coverage.covered else "This symbol is not tracked; the night does not cover it.",
        fix=past + slots + fix,
        tool_fix=past + slots + tool_fix,
        details=details,
    )


def _way_out(free: int, surface: Surface, *, read_only: bool) -> tuple[str, str]:
    """How a known symbol comes to be tracked, for a program and for an agent."""
    if read_only:
        change = "add it" if free else "exchange a ticker"
        return (
            f", but this key may only read: the owner can {change} under /watchlist.",
            f", but you may only read: ask the owner to {change} under /watchlist.",
        )
    fix = f"add the ticker with {ROUTES}"
    edit = "call add_tickers with this symbol"
    replace = (
        "read list_tracked_tickers, call set_tracked_tickers with that whole list plus this "
        "symbol (it replaces the list)"
    )
    ask = ""
    if not free:
        # The user chooses which ticker goes: an agent must not drop one on its own.
        ask = ", so one ticker must go first: ask the user which tracked ticker may go, "
        fix = f"remove a ticker that may go, add this one with {ROUTES}"
        edit = "call remove_tickers with it, call add_tickers with this symbol"
        replace = (
            "read list_tracked_tickers, call set_tracked_tickers with that list and this symbol in "
            "place of that ticker"
        )
    way = edit if surface.edits else replace
    return f": {fix}, then retry.", f"{ask or ': '}{way}, then retry."

"""The refusal of a ticker that the account does not track, and the way out that loses no ticker."""

from __future__ import annotations

from mcp_server.calls.errors import ApiError
from mcp_server.calls.surfaces import Surface
from mcp_server.operations.services import Services

ROUTES = "PUT or PATCH /tickers (or the tool set_tracked_tickers; it and PUT take the whole list)"

KNOWN = {"known": True}
"""For programs, which read no sentence: the symbol could be tracked."""


def not_tracked(
    symbol: str, services: Services, surface: Surface, *, cap: int, count: int, read_only: bool
) -> ApiError:
    """The `ticker_not_tracked` of a symbol, for an account that tracks so many of its cap, and a
    key that may change the list or only read.
    """
    free = max(0, cap - count)
    slots = f"{free} of {cap} {'slot is' if free == 1 else 'slots are'} free"
    book = services.active_night.book
    coverage = book.coverage(symbol)
    if coverage is None:
        return _unknown(slots, services.directory(book).nearest(symbol))
    if read_only:
        error = _may_only_read(slots, "add it" if free else "exchange a ticker")
    else:
        error = _add(slots, surface) if free else _no_slot(slots, surface)
    if not coverage.covered:
        error.message = (
            "This symbol is not tracked; the night does not cover it, so it has no setup."
        )
    return error


def _unknown(slots: str, nearest: list[str]) -> ApiError:
    return ApiError(
        "ticker_not_tracked",
        "This symbol is not tracked, and the night does not cover it.",
        fix=f"{slots}, but this symbol cannot be tracked: check it against GET /universe.",
        tool_fix=f"{slots}, but this symbol cannot be tracked: leave the list as it is and use a "
        "known symbol that the user means.",
        details={"known": False, **({"nearest": nearest} if nearest else {})},
    )


def _may_only_read(slots: str, change: str) -> ApiError:
    return ApiError(
        "ticker_not_tracked",
        fix=f"{slots}, but this key may only read: the owner can {change} under /watchlist.",
        tool_fix=f"{slots}, but you may only read: ask the owner to {change} under /watchlist.",
        details=KNOWN,
    )


def _no_slot(slots: str, surface: Surface) -> ApiError:
    # The user chooses which ticker goes: an agent must not drop one on its own.
    ask = f"{slots}, so one ticker must go first: ask the user which tracked ticker may go, "
    edit = "call remove_tickers with it, call add_tickers with this symbol, then retry."
    replace = (
        "read list_tracked_tickers, call set_tracked_tickers with that list and this symbol in "
        "place of that ticker, then retry."
    )
    return ApiError(
        "ticker_not_tracked",
        fix=f"{slots}: remove a ticker that may go, add this one with {ROUTES}, then retry.",
        tool_fix=ask + (edit if surface.edits else replace),
        details=KNOWN,
    )


def _add(slots: str, surface: Surface) -> ApiError:
    edit = "call add_tickers with this symbol, then retry."
    replace = (
        "read list_tracked_tickers, call set_tracked_tickers with that whole list plus this "
        "symbol (it replaces the list), then retry."
    )
    return ApiError(
        "ticker_not_tracked",
        fix=f"{slots}: add the ticker with {ROUTES}, then retry.",
        tool_fix=f"{slots}: {edit if surface.edits else replace}",
        details=KNOWN,
    )

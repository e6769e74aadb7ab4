"""Tracking: the button by which a page tracks one ticker, or no longer does."""

from __future__ import annotations

from mcp_server.calls.callers import TRACKED_CAPS
from store.accounts.accounts import Account
from store.accounts.watchlist import OverCapError, Watchlist
from web.site.refusals import Refusal


async def track(watchlist: Watchlist, account: Account, symbol: str, wanted: str) -> None:
    """Put a known symbol on the list or take it off.

    Raises:
        Refusal: the list is full, or the form asks for neither.
    """
    cap = TRACKED_CAPS[account.plan]
    if wanted not in ("track", "untrack"):
        raise Refusal(400, "This form only tracks or untracks a ticker.")
    added, removed = ([symbol], []) if wanted == "track" else ([], [symbol])
    try:
        await watchlist.edit(account.id, added, removed, cap)
    except OverCapError as error:
        raise Refusal(400, over_cap(error)) from error


def over_cap(error: OverCapError) -> str:
    """Why a list cannot grow."""
    if not error.cap:
        return "Your plan tracks no tickers."
    return (
        f"That would make {error.count} tickers, and your plan allows {error.cap}. "
        "Remove some from your watchlist first."
    )

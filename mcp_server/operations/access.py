"""Access: what a plan allows, and who may see the scan, a ticker and the demo.

The gate and the pages ask here, so a rule holds on every surface or on none.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Final

from mcp_server.calls.errors import ApiError
from mcp_server.presentation.offer import Offer
from store.accounts.accounts import Account, AccountPlan
from store.accounts.keys import Principal

CAPS: Final[Mapping[AccountPlan, int]] = {
    AccountPlan.PREMIUM_PLUS: 200,
    AccountPlan.PREMIUM: 50,
    AccountPlan.NONE: 0,
}
"""How many tickers each plan may track."""

PLANS: Final[Mapping[bool, frozenset[AccountPlan]]] = {
    True: frozenset({AccountPlan.PREMIUM_PLUS, AccountPlan.PREMIUM}),
    False: frozenset({AccountPlan.PREMIUM_PLUS}),
}
"""The plans that include the scan and the API, while the service is in beta and after that."""


def first_plan(offer: Offer) -> AccountPlan:
    """The plan of an account that somebody makes for themselves."""
    return AccountPlan.PREMIUM if offer.beta else AccountPlan.NONE


def sees_scan(account: Account | None, offer: Offer) -> bool:
    """Whether an account's plan includes the scan and the API."""
    return account is not None and account.plan in PLANS[offer.beta]


def sees_ticker(
    symbol: str, account: Account | None, tracked: Container[str], offer: Offer
) -> bool:
    """Whether an account may see the patterns, charts, history and records of a ticker: its plan
    includes them, and it tracks the ticker.
    """
    return symbol in tracked and sees_scan(account, offer)


def is_demo(symbol: str, offer: Offer) -> bool:
    """Whether everybody may see the patterns, charts, history and records of a ticker."""
    return symbol in offer.demo_symbols


def check_demo(symbol: str, offer: Offer) -> None:
    """Check that a ticker is one of the demo.

    Raises:
        ApiError: `not_a_demo_symbol`.
    """
    if not is_demo(symbol, offer):
        raise ApiError("not_a_demo_symbol", details={"demo_symbols": list(offer.demo_symbols)})


def check_rights(principal: Principal | None, offer: Offer, *, changes: bool) -> None:
    """Check that a plan includes keyed calls, and that its key may make one that `changes` a list.

    Raises:
        ApiError: `forbidden`.
    """
    if principal is None or not sees_scan(principal.account, offer):
        raise ApiError("forbidden")
    if changes and principal.key.read_only:
        raise ApiError(
            "forbidden",
            "This key may only read; the tracked list stays as it is.",
            fix="Use a key that may change the list: the owner makes one under /keys, or connects "
            "the app again without choosing read-only.",
            tool_fix="Ask the owner to change the list under /watchlist, or to connect you again "
            "without choosing read-only; every reading tool works as before.",
        )


def cap_of(account: Account) -> int:
    """How many tickers an account may track."""
    return CAPS[account.plan]


def check_cap(account: Account, count: int, kept: int = 0) -> None:
    """Check that an account may track so many tickers; a list over the cap may keep what it has.

    Raises:
        ApiError: `ticker_cap_exceeded`.
    """
    cap = cap_of(account)
    if count <= max(cap, kept):
        return
    words = f"{count} symbols exceed the cap of {cap}; nothing changed."
    if not cap:
        words = "Your plan tracks no tickers."
    raise ApiError("ticker_cap_exceeded", words, details={"cap": cap})

"""The gate: `invoke` is the only way to a handler, whatever the surface.

It checks in a fixed order: access (401), limits (429), plan (403), arguments (400), tracked ticker
(403). Then it returns the kept answer, or calls the handler with one book pinned for the whole
call. A call that a limit refuses is not counted; any other admitted call is.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from mcp_server.operations.allowances import Allowance
from mcp_server.operations.answers import Answer, Result
from mcp_server.operations.arguments import Arguments, read_arguments
from mcp_server.operations.callers import PLANS_WITH_ACCESS, TRACKED_CAPS, Caller
from mcp_server.operations.calls import Call
from mcp_server.operations.errors import ApiError, busy
from mcp_server.operations.services import Services
from mcp_server.operations.table import Access, Operation
from store.errors import DatabaseError
from store.keys import Principal

log = logging.getLogger(__name__)

Raw = dict[str, Any] | Callable[[], Awaitable[dict[str, Any]]]
"""Arguments as sent, or a function that reads them: a body is read only for an admitted caller."""


async def invoke(
    operation: Operation,
    raw: Raw,
    caller: Caller,
    services: Services,
    *,
    surface: str,
    pictures: bool = False,
) -> Result:
    """Call an operation.

    Raises:
        ApiError: any code of the operation's `codes`, or `unavailable`.
    """
    allowance = admit(operation.access, caller, services, surface)
    principal = caller.principal
    if principal is not None:
        services.usage.record(principal, operation.name, caller.client, caller.host)
    try:
        if operation.access == "keyed":
            _check_plan(principal, services)
            _check_may_change(operation, principal)
        given = raw if isinstance(raw, dict) else await raw()
        arguments: Any = read_arguments(operation.arguments, given)
        if operation.tracked:
            await _check_tracked(arguments.symbol, principal, services)
        return Result(await _answer(operation, arguments, caller, services, pictures), allowance)
    except ApiError as error:
        error.allowance = allowance
        raise
    except DatabaseError as error:
        log.warning("%s was not answered: %s", operation.name, error)
        raise busy(allowance=allowance) from error


async def _answer(
    operation: Operation, arguments: Arguments, caller: Caller, services: Services, pictures: bool
) -> Answer:
    """The kept answer of a sealed operation, else the handler's answer."""
    version, pictured = services.active_night.book.data_version, pictures and operation.pictured
    key = (version, operation.name, pictured, *vars(arguments).values())
    kept = services.answers.get(key) if operation.sealed else None
    if kept is not None:
        return kept
    # Nothing was waited for since the version was read: it is of the book that is pinned.
    with services.active_night.pin() as book:
        answer = await operation.handler(Call(arguments, caller, book, services, pictured))
    if operation.sealed:
        services.answers.keep(key, answer)
    return answer


def admit(access: Access, caller: Caller, services: Services, surface: str) -> Allowance:
    """Check a caller's credential and count the call; returns what is left of its quotas.

    Raises:
        ApiError: `invalid_api_key`, `missing_api_key`, `rate_limited` or `unavailable`.
    """
    if caller.refused == "unavailable":
        raise busy()
    if caller.refused is not None or (access == "keyed" and caller.principal is None):
        services.limiter.count_other(caller, "refused")
        raise ApiError("invalid_api_key" if caller.refused else "missing_api_key")
    allowance = services.limiter.count(caller, surface)
    if caller.principal is not None:
        services.principals.remember(caller.principal)
    return allowance


def _check_plan(principal: Principal | None, services: Services) -> None:
    plans = PLANS_WITH_ACCESS[services.offer.beta]
    if principal is None or principal.account.plan not in plans:
        raise ApiError("forbidden")


def _check_may_change(operation: Operation, principal: Principal | None) -> None:
    if operation.changes and principal is not None and principal.key.read_only:
        raise ApiError(
            "forbidden",
            "This key may only read; the tracked list stays as it is.",
            fix="Use a key that may change the list: the owner makes one under /keys, or connects "
            "the app again without the choice to only read.",
            tool_fix="Ask the owner to change the list under /watchlist, or to connect you again "
            "without the choice to only read; every reading tool works as before.",
        )


async def _check_tracked(symbol: str, principal: Principal | None, services: Services) -> None:
    if principal is None:
        raise ApiError("missing_api_key")
    tracked = await services.principals.tracked(principal)
    if symbol not in tracked:
        raise _not_tracked(TRACKED_CAPS[principal.account.plan], len(tracked))


_ROUTES = "PUT or PATCH /tickers (or the tool set_tracked_tickers; it and PUT take the whole list)"


def _not_tracked(cap: int, count: int) -> ApiError:
    free = max(0, cap - count)
    slots = f"{free} of {cap} {'slot is' if free == 1 else 'slots are'} free"
    if not free:
        # The user chooses which ticker goes: an agent must not drop one on its own.
        return ApiError(
            "ticker_not_tracked",
            fix=f"{slots}: remove a ticker that may go, add this one with {_ROUTES}, then retry.",
            tool_fix=f"{slots}: ask the user which tracked ticker may go, read "
            "list_tracked_tickers, call set_tracked_tickers with that list and this symbol in "
            "place of that ticker, then retry.",
        )
    return ApiError(
        "ticker_not_tracked",
        fix=f"{slots}: add the ticker with {_ROUTES}, then retry.",
        tool_fix=f"{slots}: read list_tracked_tickers, call set_tracked_tickers with that whole "
        "list plus this symbol (it replaces the list), then retry.",
    )

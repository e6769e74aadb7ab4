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
from mcp_server.operations.arguments import read_arguments
from mcp_server.operations.callers import PLANS_WITH_ACCESS, TRACKED_CAPS, Caller
from mcp_server.operations.calls import Call
from mcp_server.operations.errors import ApiError, without_accounts
from mcp_server.operations.services import Services
from mcp_server.operations.surfaces import (
    NO_CONDITIONS,
    Conditions,
    ConsentNeededError,
    Surface,
)
from mcp_server.operations.table import Access, Operation
from mcp_server.operations.untracked import not_tracked
from store.errors import DatabaseError
from store.keys import Principal
from telemetry.metrics import answers_cache
from telemetry.request import Request, current

log = logging.getLogger(__name__)

Raw = dict[str, Any] | Callable[[], Awaitable[dict[str, Any]]]
"""Arguments as sent, or a function that reads them: a body is read only for an admitted caller."""


async def invoke(
    operation: Operation,
    raw: Raw,
    caller: Caller,
    services: Services,
    *,
    surface: Surface,
    conditions: Conditions = NO_CONDITIONS,
) -> Result:
    """Call an operation.

    Raises:
        ApiError: any code of the operation's `codes`, or `unavailable`.
        ConsentNeededError: the user must agree first; `conditions` says that they can be asked.
    """
    request = current.get() or Request()
    request.surface, request.operation = surface.name, operation.name
    try:
        result = await _invoke(operation, raw, caller, services, surface, conditions)
    except Exception as error:
        request.code = _code_of(error)
        raise
    request.code = "ok"
    return result


async def _invoke(
    operation: Operation,
    raw: Raw,
    caller: Caller,
    services: Services,
    surface: Surface,
    conditions: Conditions,
) -> Result:
    allowance = await admit(operation.access, caller, services, surface)
    _record(operation, caller, services)
    try:
        _check_rights(operation, caller.principal, services)
        given = raw if isinstance(raw, dict) else await raw()
        arguments: Any = read_arguments(operation.arguments, given)
        if operation.tracked:
            await _check_tracked(arguments.symbol, caller.principal, services, surface)
        # Nothing is waited for between here and the pin in `_answer`: it is of this book.
        call = Call(arguments, caller, services.active_night.book, services, surface, conditions)
        return Result(await _answer(operation, call), allowance)
    except ApiError as error:
        error.allowance = allowance
        raise
    except DatabaseError as error:
        log.warning("%s was not answered: %s", operation.name, error)
        raise without_accounts(allowance) from error


def _code_of(error: Exception) -> str:
    if isinstance(error, ApiError):
        return error.code
    return "consent_needed" if isinstance(error, ConsentNeededError) else "internal_error"


def _record(operation: Operation, caller: Caller, services: Services) -> None:
    """Note whose key it is, and count the call in the usage log."""
    principal = caller.principal
    if principal is None:
        return
    if request := current.get():
        request.key_prefix = principal.key.prefix
    services.usage.record(principal, operation.name, caller.client, caller.host)


async def _answer(operation: Operation, call: Call[Any]) -> Answer:
    """The kept answer of a sealed operation, else the handler's answer."""
    services = call.services
    key = (
        call.book.data_version,
        operation.name,
        operation.pictured and call.surface.pictures,
        operation.pictured and call.surface.app,
        operation.personal and call.caller.principal is not None,
        *vars(call.arguments).values(),
    )
    if operation.sealed:
        kept = services.answers.get(key)
        answers_cache.count(found=kept is not None)
        if kept is not None:
            return kept
    with services.active_night.pin():
        answer = await operation.handler(call)
    if operation.sealed:
        services.answers.keep(key, answer)
    return answer


async def admit(access: Access, caller: Caller, services: Services, surface: Surface) -> Allowance:
    """Check a caller's credential and count the call; returns what is left of its quotas.

    Raises:
        ApiError: `invalid_api_key`, `missing_api_key`, `rate_limited` or `unavailable`.
    """
    if caller.refused == "unavailable":
        raise without_accounts()
    if caller.refused is not None or (access == "keyed" and caller.principal is None):
        await services.limiter.count_other(caller, "refused")
        raise ApiError("invalid_api_key" if caller.refused else "missing_api_key")
    allowance = await services.limiter.count(caller, surface.name)
    if caller.principal is not None:
        services.principals.remember(caller.principal)
    return allowance


def _check_rights(operation: Operation, principal: Principal | None, services: Services) -> None:
    """Check that a keyed call is in the plan, and that the key may do what it does."""
    if operation.access != "keyed":
        return
    plans = PLANS_WITH_ACCESS[services.offer.beta]
    if principal is None or principal.account.plan not in plans:
        raise ApiError("forbidden")
    if operation.changes and principal.key.read_only:
        raise ApiError(
            "forbidden",
            "This key may only read; the tracked list stays as it is.",
            fix="Use a key that may change the list: the owner makes one under /keys, or connects "
            "the app again without the choice to only read.",
            tool_fix="Ask the owner to change the list under /watchlist, or to connect you again "
            "without the choice to only read; every reading tool works as before.",
        )


async def _check_tracked(
    symbol: str, principal: Principal | None, services: Services, surface: Surface
) -> None:
    if principal is None:
        raise ApiError("missing_api_key")
    tracked = await services.principals.tracked(principal)
    if symbol not in tracked:
        raise not_tracked(
            symbol,
            services,
            surface,
            cap=TRACKED_CAPS[principal.account.plan],
            count=len(tracked),
            read_only=principal.key.read_only,
        )

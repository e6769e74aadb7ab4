"""The gate: `execute` is the only way to a handler, whatever the surface.

It checks in a fixed order: access (401), limits (429), plan (403), arguments (400), tracked ticker
(403). Then it returns the kept answer, or calls the handler with one book pinned for the whole
call. A call that a limit refuses is not counted; any other admitted call is.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, cast

from mcp_server.calls.callers import (
    NO_CONDITIONS,
    Allowance,
    Caller,
    Conditions,
    ConsentNeededError,
    Surface,
)
from mcp_server.calls.errors import ApiError, no_access, without_accounts
from mcp_server.operations.access import check_rights, sees_ticker
from mcp_server.operations.answers import Answer, Result
from mcp_server.operations.arguments import (
    Arguments,
    ListArguments,
    SymbolArguments,
    read_arguments,
)
from mcp_server.operations.services import Call, Services
from mcp_server.operations.symbols import not_tracked
from mcp_server.operations.table import Access, Operation
from screener.telemetry.metrics import answers_cache
from screener.telemetry.request import Request, current
from store.accounts.keys import Principal
from store.errors import DatabaseError

log = logging.getLogger(__name__)

Raw = dict[str, Any] | Callable[[], Awaitable[dict[str, Any]]] | Arguments
"""Arguments as sent, or a function that reads them: a body is read only for an admitted caller.
Validated ones are those of an earlier `Result` of the same request.
"""


async def execute(
    operation: Operation,
    raw: Raw,
    caller: Caller,
    services: Services,
    *,
    surface: Surface,
    conditions: Conditions = NO_CONDITIONS,
) -> Result:
    """Call an operation. A kept answer is found without waiting for anything in this process.

    Raises:
        ApiError: any code of the operation's `codes`, or `unavailable`.
        ConsentNeededError: the user must agree first; `conditions` says that they can be asked.
    """
    request = current.get() or Request()
    request.surface, request.operation = surface.name, operation.name
    allowance, principal = None, caller.principal
    try:
        if principal is None:
            allowance = await admit(operation.access, caller, services, surface)
        else:
            allowance = await services.limiter.count(caller, surface.name)
            request.key_prefix = principal.key.prefix
            services.usage.record(principal, operation.name, caller.client, caller.host)
        arguments = await _check(operation, raw, caller, services, surface)
        answer = await _answer(operation, arguments, caller, services, surface, conditions)
        request.code = "ok"
        return Result(answer, allowance, arguments)
    except ApiError as error:
        request.code, error.allowance = error.code, allowance or error.allowance
        raise
    except DatabaseError as error:
        log.warning("%s was not answered: %s", operation.name, error)
        request.code = "unavailable"
        raise without_accounts(allowance) from error
    except ConsentNeededError:
        request.code = "consent_needed"
        raise
    except Exception:
        request.code = "internal_error"
        raise


async def admit(access: Access, caller: Caller, services: Services, surface: Surface) -> Allowance:
    """Check a caller's credential and count the call; returns what is left of its quotas.

    Raises:
        ApiError: `invalid_api_key`, `missing_api_key`, `rate_limited` or `unavailable`.
    """
    if caller.refused == "unavailable":
        raise without_accounts()
    if caller.refused is not None or (access == "keyed" and caller.principal is None):
        await services.limiter.count_other(caller, "refused")
        raise no_access(caller.refused, caller.sent)
    return await services.limiter.count(caller, surface.name)


async def _check(
    operation: Operation, raw: Raw, caller: Caller, services: Services, surface: Surface
) -> Arguments:
    """The validated arguments of a call that its sender may make."""
    principal = caller.principal
    if operation.access == "keyed":
        check_rights(principal, services.offer, changes=operation.changes)
    if isinstance(raw, Arguments):
        arguments = raw
    else:
        sent = raw if isinstance(raw, dict) else await raw()
        arguments = read_arguments(operation.arguments, sent)
    if operation.tracked:
        symbol = cast("SymbolArguments", arguments).symbol
        await _check_tracked(symbol, principal, services, surface)
    return arguments


async def _check_tracked(
    symbol: str, principal: Principal | None, services: Services, surface: Surface
) -> None:
    if principal is None:
        raise ApiError("missing_api_key")
    tracked = await services.principals.tracked(principal)
    if not sees_ticker(symbol, principal.account, tracked, services.offer):
        raise not_tracked(symbol, services, surface, principal, len(tracked))


def _values(arguments: Arguments) -> Iterator[object]:
    for value in vars(arguments).values():
        yield tuple(value) if isinstance(value, list) else value


async def _answer(
    operation: Operation,
    arguments: Arguments,
    caller: Caller,
    services: Services,
    surface: Surface,
    conditions: Conditions,
) -> Answer:
    """The kept answer or else the handler's, which is kept if it is cacheable."""
    # Nothing is waited for between here and the pin: the answer is of this book.
    book = services.active_night.book
    if isinstance(arguments, ListArguments) and arguments.tracked and caller.principal:
        # What is kept is of symbols, and not of an account.
        tracked = await services.principals.tracked(caller.principal)
        asked = tracked if arguments.symbols is None else set(tracked) & set(arguments.symbols)
        arguments = arguments.model_copy(update={"symbols": sorted(asked)})
        book = services.active_night.book
    signed_in = caller.principal is not None
    shown = (surface.name, surface.app, signed_in) if operation.pictured else ()
    night = (book.data_version, book.is_current, book.missed)
    key = (*night, operation.name, *shown, *_values(arguments))
    if operation.cacheable and (kept := services.answers.get(key)) is not None:
        answers_cache.hits += 1
        return kept
    with services.active_night.pin():
        call = Call(arguments, caller, book, services, surface, conditions)
        answer = await operation.handler(call)
    if operation.cacheable:
        answers_cache.misses += 1
        services.answers.keep(key, answer)
    return answer

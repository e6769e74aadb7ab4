"""The facade: the REST routes and the documents over the operations, as one ASGI app.

It does its own routing with two look-ups in a table, because matching path patterns one by one
would cost more than the stored answer.
"""

from __future__ import annotations

import datetime as dt
import functools
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

from starlette.types import Receive, Scope, Send

from mcp_server.http.requests import (
    MAX_BODY,
    BodyTooLargeError,
    DisconnectedError,
    Header,
    read_body,
)
from mcp_server.http.responses import (
    PRIVATE,
    PRIVATE_HOUR,
    PUBLIC,
    PUBLIC_HOUR,
    HttpResponse,
    answer_response,
    change_response,
    error_response,
    matches,
)
from mcp_server.operations.age import Age
from mcp_server.operations.answers import JSON, PNG, Answer
from mcp_server.operations.callers import Caller
from mcp_server.operations.decoding import JsonError, decode
from mcp_server.operations.errors import ApiError
from mcp_server.operations.gate import admit, invoke
from mcp_server.operations.services import Services
from mcp_server.operations.surfaces import NO_CONDITIONS, REST, Conditions
from mcp_server.operations.table import OPERATIONS
from oauth.metadata import ProtectedResource
from rest_facade.documents import documents, link_map, night_fields
from rest_facade.routes import ROUTES, RestRoute
from telemetry.request import note

AGES = {
    ("keyed", JSON): PRIVATE,
    ("keyed", PNG): PRIVATE_HOUR,
    ("keyless", JSON): PUBLIC,
    ("keyless", PNG): PUBLIC_HOUR,
}
"""How long an answer may be reused, by the operation's access and the answer's media type."""

REFERENCE = "/llms.txt"
"""Served at the root of the host too."""

BODY = 'Send {"symbols": ["MSFT"]} with PUT, {"add": ["MSFT"], "remove": []} with PATCH.'

Methods = Mapping[str, RestRoute]

log = logging.getLogger(__name__)


class Facade:
    """Everything below the REST base, and the reference at the root of the host."""

    def __init__(
        self,
        services: Services,
        resource: ProtectedResource,
        base: str,
        clock: Callable[[], dt.datetime],
    ) -> None:
        self._services = services
        self._clock = clock
        self._resource = resource
        self._base = base
        quotas = services.limiter.quotas
        self.documents = documents(services.offer, quotas)
        self._links = link_map(services.offer, quotas)
        self._table = _table(ROUTES)

    def owns(self, path: str) -> bool:
        """Whether the facade serves a path, given without a trailing slash."""
        return path == self._base or path.startswith(f"{self._base}/") or path == REFERENCE

    def answers(self, path: str, method: str) -> bool:
        """Whether the facade has a route or a document at a path, given as `owns` takes it."""
        below, asked = path.removeprefix(self._base), "GET" if method == "HEAD" else method
        found = find(self._table, below) if self.owns(path) else None
        if found is not None:
            return asked in found[0]
        return self.owns(path) and asked == "GET" and below in ("", *self.documents)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self._respond(scope, receive)
        except ApiError as error:
            response = self._refusal(error, scope["caller"])
        except Exception as error:
            log.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
            response = error_response(ApiError("internal_error"), self._services.offer.docs_url)
        await response(scope, receive, send)

    async def _respond(self, scope: Scope, receive: Receive) -> HttpResponse:
        path, method = scope["path"].removeprefix(self._base), scope["method"]
        found = find(self._table, path)
        if found is None:
            return await self._document(scope, path)
        methods, raw = found
        route = methods.get("GET" if method == "HEAD" else method)
        if route is None:
            allowed = [*methods, *(("HEAD",) if "GET" in methods else ())]
            return await self._nothing(scope, "method_not_allowed", allowed)
        if route.method != "GET":
            given: Any = functools.partial(_read_object, receive)
        elif route.query and scope["query_string"]:
            given = functools.partial(_read_query, scope["query_string"], route.query, raw)
        else:
            given = raw
        operation = OPERATIONS[route.operation]
        conditions = _conditions(scope["headers"]) if operation.changes else NO_CONDITIONS
        answer, left = await invoke(
            operation, given, scope["caller"], self._services, surface=REST, conditions=conditions
        )
        if operation.changes:
            return change_response(answer, left)
        age = AGES[operation.access, answer.media_type]
        return answer_response(answer, scope["headers"], age, left)

    async def _document(self, scope: Scope, path: str) -> HttpResponse:
        document = self.documents.get(path)
        if document is None and path != "":
            return await self._nothing(scope, "not_found")
        note(REST.name, path or "/")
        if scope["method"] not in ("GET", "HEAD"):
            return await self._nothing(scope, "method_not_allowed", ["GET", "HEAD"])
        left = await admit("keyless", scope["caller"], self._services, REST)
        if document is not None:
            return answer_response(document, scope["headers"], PUBLIC_HOUR, left)
        return answer_response(self._map(), scope["headers"], PUBLIC, left)

    def _map(self) -> Answer:
        night = self._services.active_night
        age = Age.of(night.book, self._clock().date())
        fields = night_fields(age, night.withdrawn)
        return Answer(b"%b,%b,%b" % (night.book.envelope, fields[1:-1], self._links[1:]))

    async def _nothing(self, scope: Scope, code: str, methods: Sequence[str] = ()) -> HttpResponse:
        """The refusal where no operation is, which counts for the address."""
        await self._services.limiter.count_other(scope["caller"], "refused")
        allow = {"Allow": ", ".join(sorted(methods))} if methods else {}
        return error_response(ApiError(code), self._services.offer.docs_url, allow)

    def _refusal(self, error: ApiError, caller: Caller) -> HttpResponse:
        headers = {}
        if error.code == "invalid_api_key" and caller.refused == "token":
            headers["WWW-Authenticate"] = self._resource.challenge("invalid_token")
        return error_response(error, self._services.offer.docs_url, headers)


def _table(routes: tuple[RestRoute, ...]) -> dict[str, dict[str, RestRoute]]:
    """The routes by path and method; the parameter of a path is written `*`."""
    table: dict[str, dict[str, RestRoute]] = {}
    for route in routes:
        parts = ["*" if part.startswith("{") else part for part in route.path.split("/")]
        table.setdefault("/".join(parts), {})[route.method] = route
    return table


def find(table: Mapping[str, Methods], path: str) -> tuple[Methods, dict[str, str]] | None:
    """The methods of a path, and its parameter's value by name; None if no route has the path."""
    parts = path.split("/")
    if len(parts) == 2:
        methods = table.get(path)
        return None if methods is None else (methods, {})
    if len(parts) not in (3, 4) or not parts[2]:
        return None
    value, parts[2] = parts[2], "*"
    methods = table.get("/".join(parts))
    if methods is None:
        return None
    name = next(iter(methods.values())).path.split("/")[2][1:-1]
    return methods, {name: value}


def _conditions(headers: Iterable[Header]) -> Conditions:
    """What the sender of a change demands of the tracked list (RFC 9110 section 13.1.1)."""
    fields = [value for name, value in headers if name == b"if-match"]
    # There always is a list, so the star demands nothing.
    if not fields or fields == [b"*"]:
        return NO_CONDITIONS
    return Conditions(unchanged=functools.partial(matches, b",".join(fields)))


async def _read_query(
    query: bytes, wanted: tuple[str, ...], names: Mapping[str, str]
) -> dict[str, str]:
    """The wanted parameters of a query (the last value of a repeated one) and those of the path."""
    pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
    return {**{name: value for name, value in pairs if name in wanted}, **names}


async def _read_object(receive: Receive) -> dict[str, Any]:
    """The JSON object in the body of a request.

    Raises:
        ApiError: `payload_too_large` over 64 KB; `bad_request` for anything but an object.
    """
    try:
        content = decode(await read_body(receive))
    except BodyTooLargeError as error:
        message = f"The body is over {MAX_BODY // 1024} KB."
        raise ApiError("payload_too_large", message) from error
    except DisconnectedError as error:
        raise ApiError("bad_request", "The body was not sent completely.") from error
    except JsonError as error:
        raise ApiError("bad_request", f"The body is {error}.", fix=BODY) from error
    if not isinstance(content, dict):
        raise ApiError("bad_request", "The body must be a JSON object.", fix=BODY)
    return content

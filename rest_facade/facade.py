"""The facade: the REST routes and the documents over the operations.

It does its own routing with two look-ups in a table, because matching path patterns one by one
would cost more than the stored answer.
"""

from __future__ import annotations

import datetime as dt
import functools
from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Any
from urllib.parse import parse_qsl

import orjson

from mcp_server.calls.callers import NO_CONDITIONS, REST, Caller, Conditions
from mcp_server.calls.decoding import JsonError, decode
from mcp_server.calls.errors import ApiError
from mcp_server.filters.symbol_lists import text_of
from mcp_server.http.known import MAX_KNOWN_BYTES, Known
from mcp_server.http.requests import BodyError, Receive, Scope, read_body
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
from mcp_server.operations.answers import JSON, PNG, Answer
from mcp_server.operations.arguments import Arguments
from mcp_server.operations.gate import Raw, admit, execute
from mcp_server.operations.schemas import input_schema
from mcp_server.operations.services import Services
from mcp_server.operations.spellings import STRICT, spelled
from mcp_server.operations.table import OPERATIONS, Operation
from mcp_server.presentation.age import Age
from oauth.metadata import ProtectedResource
from rest_facade.documents import documents, link_map
from rest_facade.routes import ROUTES, RestRoute
from screener.telemetry.request import note

CACHE_CONTROL = {
    ("keyed", JSON): PRIVATE,
    ("keyed", PNG): PRIVATE_HOUR,
    ("keyless", JSON): PUBLIC,
    ("keyless", PNG): PUBLIC_HOUR,
}
"""How long an answer may be reused, by the operation's access and the answer's media type."""

REFERENCE = "/llms.txt"
"""Served at the root of the host too."""

BODY = (
    'Send {"symbols": ["SYMBOL"]} with PUT, {"add": ["SYMBOL"], "remove": []} with PATCH, '
    'and with POST {"text": "SYMBOL,SYMBOL"} or the text itself as text/plain.'
)

Methods = Mapping[str, RestRoute]


class Facade:
    """Everything below the REST base, and the reference at the root of the host."""

    def __init__(
        self,
        services: Services,
        identify: Callable[[Scope], Awaitable[Caller]],
        resource: ProtectedResource,
        base: str,
        clock: Callable[[], dt.datetime],
    ) -> None:
        self._services = services
        self._identify = identify
        self._clock = clock
        self._resource = resource
        self._base = base
        self._below = f"{base}/"
        self._known = Known[tuple[str, bytes], tuple[Operation, Arguments]]()
        self._quotas = services.limiter.quotas
        self._documents = documents(self._quotas)
        self._table = _table(ROUTES)

    def owns(self, path: str) -> bool:
        """Whether the facade serves a path, given without a trailing slash."""
        return path.startswith(self._below) or path in (self._base, REFERENCE)

    async def respond(self, scope: Scope, receive: Receive) -> HttpResponse:
        """Answer a request, whose path the facade owns.

        Raises:
            ApiError: the refusal; what has no route or document counts for the address.
        """
        path, method, query = scope["path"], scope["method"], scope["query_string"]
        known = self._known.get((path, query)) if method == "GET" else None
        if known is None:
            below = path.removeprefix(self._base)
            found = find(self._table, below)
            if found is None:
                return await self._document(scope, below)
            methods, raw = found
            route = methods.get("GET" if method == "HEAD" else method)
            if route is None:
                return await self._nothing(scope, "method_not_allowed", methods)
            operation, given = OPERATIONS[route.operation], _given(route, raw, scope, receive)
        else:
            operation, given = known
        fields, caller = scope["fields"], await self._identify(scope)
        conditions = _conditions(fields) if operation.changes else NO_CONDITIONS
        try:
            answer, left, arguments = await execute(
                operation, given, caller, self._services, surface=REST, conditions=conditions
            )
        except ApiError as error:
            if error.code == "invalid_api_key" and caller.refused == "token":
                return self._challenge(error)
            raise
        if operation.changes:
            return change_response(answer, left)
        if known is None and len(path) + len(query) <= MAX_KNOWN_BYTES:
            self._known.keep((path, query), (operation, arguments))
        caching = CACHE_CONTROL[operation.access, answer.media_type]
        return answer_response(answer, fields, caching, left)

    async def _document(self, scope: Scope, path: str) -> HttpResponse:
        document = self._documents.get(path)
        if document is None and path != "":
            return await self._nothing(scope, "not_found")
        note(REST.name, path or "/")
        if scope["method"] not in ("GET", "HEAD"):
            return await self._nothing(scope, "method_not_allowed", ["GET"])
        caller = await self._identify(scope)
        try:
            left = await admit("keyless", caller, self._services, REST)
        except ApiError as error:
            if caller.refused == "token":
                return self._challenge(error)
            raise
        if document is not None:
            answer = document(self._services.offer_of_night)
            return answer_response(answer, scope["fields"], PUBLIC_HOUR, left)
        return answer_response(self._map(), scope["fields"], PUBLIC, left)

    def _map(self) -> Answer:
        night = self._services.active_night
        age = Age.of(night.book, self._clock().date())
        fields = orjson.dumps({"night": age.fields, "withdrawn": night.withdrawn})
        links = link_map(self._services.offer_of_night, self._quotas)
        return Answer(b"%b,%b,%b" % (night.book.envelope, fields[1:-1], links[1:]))

    async def _nothing(
        self, scope: Scope, code: str, methods: Collection[str] = ()
    ) -> HttpResponse:
        """The refusal where no operation is, which counts for the address."""
        await self._services.limiter.count_other(scope["caller"], "refused")
        allowed = sorted({*methods, "HEAD"} if "GET" in methods else methods)
        allow = {"Allow": ", ".join(allowed)} if methods else {}
        return error_response(ApiError(code), self._services.offer.docs_url, allow)

    def _challenge(self, error: ApiError) -> HttpResponse:
        challenge = {"WWW-Authenticate": self._resource.challenge("invalid_token")}
        return error_response(error, self._services.offer.docs_url, challenge)


def _given(route: RestRoute, raw: dict[str, str], scope: Scope, receive: Receive) -> Raw:
    """The arguments of a request to a route."""
    query = scope["query_string"]
    if route.text and scope["fields"].get(b"content-type", b"").lower().startswith(b"text/"):
        return functools.partial(_read_text, receive, route.text)
    operation = OPERATIONS[route.operation]
    if route.method != "GET":
        return functools.partial(_read_object, receive, operation)
    if route.query and query:
        return functools.partial(_read_query, query, route.query, raw, operation)
    return raw


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
    if "*" not in path and (methods := table.get(path)):
        return methods, {}
    if len(parts) not in (3, 4) or not parts[2]:
        return None
    value, parts[2] = parts[2], "*"
    if not (methods := table.get("/".join(parts))):
        return None
    name = next(iter(methods.values())).path.split("/")[2][1:-1]
    return methods, {name: value}


def _conditions(fields: Mapping[bytes, bytes]) -> Conditions:
    """What the sender of a change demands of the tracked list (RFC 9110 section 13.1.1)."""
    field = fields.get(b"if-match")
    # There always is a list, so the star demands nothing.
    if field is None or field == b"*":
        return NO_CONDITIONS
    return Conditions(unchanged=functools.partial(matches, field))


async def _read_query(
    query: bytes, wanted: tuple[str, ...], names: Mapping[str, str], operation: Operation
) -> dict[str, Any]:
    """The wanted parameters of a query and those of the path. The last value of a repeated one
    counts; a list has them all, since clients of the OpenAPI document repeat its name.
    """
    fields = input_schema(operation)["properties"]
    sent: dict[str, str] = {}
    for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
        if name in wanted:
            is_more = name in sent and fields.get(name, {}).get("type") == "array"
            sent[name] = f"{sent[name]},{value}" if is_more else value
    return {**spelled(operation, sent, STRICT), **names}


async def _read_object(receive: Receive, operation: Operation) -> dict[str, Any]:
    """The JSON object in the body of a request.

    Raises:
        ApiError: `payload_too_large` over 64 KB; `bad_request` for anything but an object.
    """
    try:
        content = decode(await _read(receive))
    except JsonError as error:
        raise ApiError("bad_request", f"The body is {error}.", fix=BODY) from error
    if not isinstance(content, dict):
        raise ApiError("bad_request", "The body must be a JSON object.", fix=BODY)
    return spelled(operation, content, STRICT)


async def _read_text(receive: Receive, name: str) -> dict[str, Any]:
    """The body of a request as the argument of a name."""
    return {name: text_of(await _read(receive))}


async def _read(receive: Receive) -> bytes:
    try:
        return await read_body(receive)
    except BodyError as error:
        code = "payload_too_large" if error.status == 413 else "bad_request"
        raise ApiError(code, f"The body {error}.") from error

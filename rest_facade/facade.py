"""The facade: the REST routes and the documents over the operations, as one ASGI app.

It does its own routing, two look-ups in a table, because a stored answer costs less than a search
through patterns of addresses would.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl
from weakref import ref

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mcp_server.callers import Caller
from mcp_server.errors import ApiError
from mcp_server.operations import OPERATIONS, Question, admit, invoke, question
from mcp_server.pages import Page
from mcp_server.replies import Reply
from mcp_server.services import Services
from oauth.metadata import ProtectedResource
from rest_facade.bodies import read_object
from rest_facade.documents import JSON, documents, link_map
from rest_facade.repeats import Repeat
from rest_facade.responses import PUBLIC, PUBLIC_HOUR, Wants, form_of, from_error, served_form
from rest_facade.routes import ROUTES, RestRoute

Methods = Mapping[str, RestRoute]
Found = Question | RestRoute | tuple[str, ...] | None
"""What a request asks, a route whose body asks it, the methods that would do, or no route."""

JSON_ESCAPES = tuple((f"%{ord(character):02X}", character) for character in ' "[]{}:,')
"""What most escapes of a filter stand for; the parser needs 0.3 us for each that is left to it."""
REMEMBERED = 1024
"""Characters of an address up to which what it asks is remembered."""

log = logging.getLogger(__name__)


class Facade:
    """Everything below the REST base, and the reference at the root of the host."""

    def __init__(self, services: Services, resource: ProtectedResource, base: str) -> None:
        self._services = services
        self._resource = resource
        self._base = base
        quotas = services.limiter.quotas
        self.documents = documents(services.offer, quotas)
        self._links = link_map(services.offer, quotas)
        self._pages = {path: (Page(d.body), d.media_type) for path, d in self.documents.items()}
        self._table = _table(ROUTES)
        self._known = functools.lru_cache(maxsize=4096)(self._look_up)

    def owns(self, path: str) -> bool:
        """Whether a path without a slash at its end is the facade's to answer."""
        return path.startswith(self._base) or path == "/llms.txt"

    def exception_handlers(self) -> Mapping[Any, Any]:
        """What the rest of the app answers where no route of it does."""
        return {HTTPException: self._routing_error, Exception: self._crash}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            reply = await self._reply(scope, receive)
        except ApiError as error:
            reply = self._refusal(error, scope["caller"])
        except Exception as error:
            log.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
            reply = from_error(ApiError("internal_error"), self._services.offer.docs_url)
        await reply(scope, receive, send)

    async def _reply(self, scope: Scope, receive: Receive) -> Reply:
        path, query = scope["path"], scope["query_string"]
        look_up = self._known if len(path) + len(query) <= REMEMBERED else self._look_up
        found = look_up(scope["method"], path, query)
        if isinstance(found, Question):
            return await self._answer(found, scope, Wants(scope["headers"]))
        if isinstance(found, RestRoute):
            body = functools.partial(read_object, receive)
            asked = question(OPERATIONS[found.operation], body)
            return await self._answer(asked, scope, Wants(()))
        if found is None:
            return self._document(scope, path.removeprefix(self._base))
        return self._not_allowed(found)

    async def _answer(self, asked: Question, scope: Scope, wants: Wants) -> Reply:
        caller, night = scope["caller"], self._services.active_night.data_version
        served = await invoke(asked, caller, self._services, surface="rest")
        form = served_form(served, wants, keyed=asked.operation.access == "keyed")
        fresh = wants.knows(form)
        if asked.key is not None and night is not None and caller.lasts:
            scope["repeat"] = Repeat(night, caller, asked.operation, ref(form), fresh)
        return form.reply(served.allowance, fresh=fresh)

    def _look_up(self, method: str, path: str, query: bytes) -> Found:
        found = find(self._table, path.removeprefix(self._base))
        if found is None:
            return None
        methods, names = found
        route = methods.get("GET" if method == "HEAD" else method)
        if route is None:
            return tuple(sorted({*methods, *(("HEAD",) if "GET" in methods else ())}))
        if route.method != "GET":
            return route
        return question(OPERATIONS[route.operation], {**_query(query, route.query), **names})

    def _document(self, scope: Scope, path: str) -> Reply:
        known = self._pages.get(path)
        if known is None and path != "":
            return from_error(ApiError("not_found"), self._services.offer.docs_url)
        if scope["method"] not in ("GET", "HEAD"):
            return self._not_allowed(["GET", "HEAD"])
        allowance = admit("keyless", scope["caller"], self._services, "rest")
        page, media_type = known or (self._map(), JSON)
        age = PUBLIC_HOUR if known else PUBLIC
        wants = Wants(scope["headers"])
        form = form_of(page, wants, age, media_type)
        return form.reply(allowance, fresh=wants.knows(form))

    def _map(self) -> Page:
        with self._services.active_night.pin() as book:
            return Page(b"%b,%b" % (book.envelope, self._links[1:]))

    def _not_allowed(self, methods: Sequence[str]) -> Reply:
        allow = {"Allow": ", ".join(methods)}
        return from_error(ApiError("method_not_allowed"), self._services.offer.docs_url, allow)

    def _refusal(self, error: ApiError, caller: Caller) -> Reply:
        headers = {}
        if error.code == "invalid_api_key" and caller.refused == "token":
            headers["WWW-Authenticate"] = self._resource.challenge("invalid_token")
        return from_error(error, self._services.offer.docs_url, headers)

    async def _routing_error(self, _request: Request, error: HTTPException) -> Response:
        code = "method_not_allowed" if error.status_code == 405 else "not_found"
        docs_url = self._services.offer.docs_url
        return _as_response(from_error(ApiError(code), docs_url, error.headers))

    async def _crash(self, request: Request, error: Exception) -> Response:
        log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return _as_response(from_error(ApiError("internal_error"), self._services.offer.docs_url))


def _as_response(reply: Reply) -> Response:
    """The same as a response of Starlette."""
    response = Response(reply.body, reply.status)
    response.raw_headers[:] = reply.headers
    return response


def _table(routes: tuple[RestRoute, ...]) -> dict[str, dict[str, RestRoute]]:
    """The routes by path, with its one parameter written `*`."""
    table: dict[str, dict[str, RestRoute]] = {}
    for route in routes:
        parts = ["*" if part.startswith("{") else part for part in route.path.split("/")]
        table.setdefault("/".join(parts), {})[route.method] = route
    return table


def find(table: Mapping[str, Methods], path: str) -> tuple[Methods, dict[str, str]] | None:
    """The methods of a path, and what stands in it for the parameter, by the parameter's name."""
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


def _query(query: bytes, wanted: tuple[str, ...]) -> dict[str, str]:
    """The wanted parameters of a query; of a repeated one the last value counts."""
    if not wanted:
        return {}
    text = query.decode("latin-1")
    for escape, character in JSON_ESCAPES:
        text = text.replace(escape, character)
    pairs = parse_qsl(text, keep_blank_values=True)
    return {name: value for name, value in pairs if name in wanted}

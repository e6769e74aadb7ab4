"""The facade: the REST routes and the documents over the operations, and the errors of routing."""

from __future__ import annotations

import functools
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from mcp_server.callers import Caller
from mcp_server.errors import ApiError
from mcp_server.operations import OPERATIONS, admit, invoke
from mcp_server.services import Services
from oauth.metadata import ProtectedResource
from rest_facade.bodies import read_object
from rest_facade.documents import JSON, Document, documents, link_map
from rest_facade.responses import ONE_HOUR, REVALIDATE, from_answer, from_error, stored
from rest_facade.routes import ROUTES, RestRoute

Endpoint = Callable[[Request], Awaitable[Response]]

log = logging.getLogger(__name__)


class Facade:
    """Everything below the REST base, as Starlette routes."""

    def __init__(self, services: Services, resource: ProtectedResource) -> None:
        self._services = services
        self._resource = resource
        quotas = services.limiter.quotas
        self.documents = documents(services.offer, quotas)
        self._links = link_map(services.offer, quotas)

    def routes(self, base: str) -> list[Route]:
        """The routes of the table and the documents, below a base path."""
        by_path: dict[str, dict[str, RestRoute]] = {}
        for route in ROUTES:
            by_path.setdefault(route.path, {})[route.method] = route
        served = [
            Route(base + path, self._endpoint(methods), methods=list(methods))
            for path, methods in by_path.items()
        ]
        served += [
            Route(base + path, self.document(document)) for path, document in self.documents.items()
        ]
        return [*served, Route(base, self._refusing(self._map))]

    def exception_handlers(self) -> Mapping[Any, Any]:
        """What the whole app answers where no route does."""
        return {HTTPException: self._routing_error, Exception: self._crash}

    def document(self, document: Document) -> Endpoint:
        """The endpoint of one document, wherever it is served."""

        async def answer(request: Request) -> Response:
            caller: Caller = request.scope["caller"]
            allowance = admit("keyless", caller, self._services, "rest").headers()
            known = request.headers.get("if-none-match")
            age = f"public, {ONE_HOUR}"
            return stored(document.body, document.media_type, age, known, allowance)

        return self._refusing(answer)

    async def _map(self, request: Request) -> Response:
        caller: Caller = request.scope["caller"]
        allowance = admit("keyless", caller, self._services, "rest").headers()
        async with self._services.shelf.lease() as book:
            body = b"%b,%b" % (book.envelope, self._links[1:])
        known = request.headers.get("if-none-match")
        return stored(body, JSON, f"public, {REVALIDATE}", known, allowance)

    def _endpoint(self, methods: Mapping[str, RestRoute]) -> Endpoint:
        async def answer(request: Request) -> Response:
            route = methods["GET" if request.method == "HEAD" else request.method]
            caller: Caller = request.scope["caller"]
            read = functools.partial(_arguments, request, route)
            result = await invoke(route.operation, read, caller, self._services, surface="rest")
            keyed = OPERATIONS[route.operation].access == "keyed"
            known = request.headers.get("if-none-match") if route.method == "GET" else None
            return from_answer(result, keyed=keyed, known=known)

        return self._refusing(answer)

    def _refusing(self, endpoint: Endpoint) -> Endpoint:
        async def answer(request: Request) -> Response:
            try:
                return await endpoint(request)
            except ApiError as error:
                return self._refusal(error, request.scope["caller"])

        return answer

    def _refusal(self, error: ApiError, caller: Caller) -> Response:
        expired = error.code == "invalid_api_key" and caller.refused == "token"
        challenge = self._resource.challenge("invalid_token") if expired else None
        return from_error(error, self._services.offer.docs_url, challenge)

    async def _routing_error(self, _request: Request, error: HTTPException) -> Response:
        code = "method_not_allowed" if error.status_code == 405 else "not_found"
        response = from_error(ApiError(code), self._services.offer.docs_url)
        response.headers.update(error.headers or {})
        return response

    async def _crash(self, request: Request, error: Exception) -> Response:
        log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return from_error(ApiError("internal_error"), self._services.offer.docs_url)


async def _arguments(request: Request, route: RestRoute) -> dict[str, Any]:
    if route.method != "GET":
        return await read_object(request)
    # Of a repeated parameter the last value counts.
    query = {name: value for name, value in request.query_params.items() if name in route.query}
    return {**query, **request.path_params}

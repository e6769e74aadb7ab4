"""The routes: method and path to operation; path, query and body to its arguments."""

from __future__ import annotations

import functools
import logging
from dataclasses import dataclass
from typing import Any, Literal

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_server.callers import Caller
from mcp_server.errors import ApiError
from mcp_server.operations import OPERATIONS, invoke
from mcp_server.services import Services
from oauth.metadata import ProtectedResource
from rest_facade.bodies import read_object
from rest_facade.responses import from_answer, from_error

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RestRoute:
    """One route of the table: what it serves and where."""

    method: Literal["GET", "PUT", "PATCH"]
    path: str
    operation: str
    query: tuple[str, ...] = ()
    """The query parameters it takes; others are ignored."""


SCAN_QUERY = ("family", "direction", "status", "max_distance_pct", "filters", "limit", "offset")

ROUTES = (
    RestRoute("GET", "/me", "me"),
    RestRoute("GET", "/scan", "scan", SCAN_QUERY),
    RestRoute("GET", "/tickers", "list_tracked_tickers"),
    RestRoute("PUT", "/tickers", "set_tracked_tickers"),
    RestRoute("PATCH", "/tickers", "edit_tracked_tickers"),
    RestRoute("GET", "/tickers/{symbol}/patterns", "get_ticker_patterns"),
    RestRoute("GET", "/tickers/{symbol}/history", "get_pattern_history", ("limit", "outcome")),
    RestRoute("GET", "/tickers/{symbol}/chart.png", "get_pattern_chart", ("setup_id",)),
    RestRoute("GET", "/families", "get_family_track_record"),
    RestRoute("GET", "/families/{family}/stats", "get_family_track_record"),
    RestRoute("GET", "/universe", "universe"),
    RestRoute("GET", "/demo", "demo_symbols"),
    RestRoute("GET", "/demo/{symbol}", "demo"),
    RestRoute("GET", "/demo/{symbol}/chart.png", "demo_chart", ("setup_id",)),
)


class Facade:
    """The REST routes as an ASGI app, to be mounted at the REST base."""

    def __init__(self, services: Services, resource: ProtectedResource) -> None:
        self._services = services
        self._resource = resource
        by_path: dict[str, dict[str, RestRoute]] = {}
        for route in ROUTES:
            by_path.setdefault(route.path, {})[route.method] = route
        self._app: ASGIApp = Starlette(
            routes=[
                Route(path, self._endpoint(methods), methods=list(methods))
                for path, methods in by_path.items()
            ],
            exception_handlers={HTTPException: self._routing_error, Exception: self._crash},
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if scope["type"] == "http" and path.endswith("/") and path != scope.get("root_path", ""):
            # Trailing slashes are optional, and a redirect would drop a PUT's body.
            scope = {**scope, "path": path.rstrip("/")}
        await self._app(scope, receive, send)

    def _endpoint(self, methods: dict[str, RestRoute]) -> Any:  # noqa: ANN401 - Starlette's own type
        async def endpoint(request: Request) -> Response:
            method = "GET" if request.method == "HEAD" else request.method
            return await self._answer(request, methods[method])

        return endpoint

    async def _answer(self, request: Request, route: RestRoute) -> Response:
        caller: Caller = request.scope["caller"]
        read = functools.partial(_arguments, request, route)
        try:
            answer = await invoke(route.operation, read, caller, self._services, surface="rest")
        except ApiError as error:
            return self._refusal(error, caller)
        return from_answer(answer, keyed=OPERATIONS[route.operation].access == "keyed")

    def _refusal(self, error: ApiError, caller: Caller) -> Response:
        expired = error.code == "invalid_api_key" and caller.refused == "token"
        challenge = self._resource.challenge("invalid_token") if expired else None
        return from_error(error, self._services.offer.docs_url, challenge)

    async def _routing_error(self, _request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 404
        code = "method_not_allowed" if status == 405 else "not_found"
        response = from_error(ApiError(code), self._services.offer.docs_url)
        if isinstance(error, HTTPException) and error.headers:
            response.headers.update(error.headers)
        return response

    async def _crash(self, request: Request, error: Exception) -> Response:
        log.error("%s %s failed", request.method, request.url.path, exc_info=error)
        return from_error(ApiError("internal_error"), self._services.offer.docs_url)


async def _arguments(request: Request, route: RestRoute) -> dict[str, Any]:
    if request.method in ("PUT", "PATCH"):
        return await read_object(request)
    # Of a repeated parameter the last value counts.
    query = {name: value for name, value in request.query_params.items() if name in route.query}
    return {**query, **request.path_params}

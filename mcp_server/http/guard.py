"""The guard: bounds of a request and of requests under way, before anybody asks who is calling."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol

from mcp_server.http.cors import cors_fields, preflight
from mcp_server.http.requests import Header, Origins, Receive, Scope, Send, host_of, is_below
from mcp_server.http.responses import HttpResponse, error_response, response
from mcp_server.operations.callers import network_of
from mcp_server.operations.errors import ApiError, busy
from telemetry.metrics import limits_hit
from telemetry.request import note

MAX_QUERY = 8 * 1024
MAX_RETURN = 3 * MAX_QUERY
"""Of the pages that lead back to another one: their query holds its address, encoded again."""
RETURNING = ("/sign-in", "/sign-up")
MAX_FIELDS, MAX_FIELD_BYTES = 100, 64 * 1024
"""Most fields of a header, and their bytes; a server may refuse larger ones before the guard."""

CONNECTION = "connection"
"""Under this name a server may put the `Answering` connection into the state of a scope."""

AGENT_PATHS = ("/api", "/mcp")
"""What is below is answered with the Error body; anything else in words for people."""
OAUTH_PATHS = ("/oauth/token", "/oauth/register", "/oauth/revoke")

FIXES = {
    400: "Send one Host field.",
    414: "Send a shorter query.",
    431: "Send fewer or shorter header fields.",
}

NOSNIFF: Header = (b"x-content-type-options", b"nosniff")
HSTS: Header = (b"strict-transport-security", b"max-age=31536000")
"""RFC 6797: a browser that was here over https never comes back without it for a year."""
CLOSE: Header = (b"connection", b"close")

TEXT = "text/plain; charset=utf-8"

App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Answering(Protocol):
    """A connection that wants to know when the app is done with a request."""

    @property
    def is_ending(self) -> bool:
        """Whether the answer that is due is its last one."""

    def answered(self) -> None:
        """The app is done with one request."""


class Guard:
    """Pure ASGI middleware around the whole app, behind what finds the client's real address."""

    def __init__(self, app: App, *, at_once: int, is_https: bool, docs_url: str) -> None:
        self._app = app
        self._at_once = at_once
        self._docs_url = docs_url
        self._fields: tuple[Header, ...] = (NOSNIFF, HSTS) if is_https else (NOSNIFF,)
        self._under_way = 0
        self._by_network: dict[str, int] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        connection: Answering | None = scope.get("state", {}).get(CONNECTION)
        names = [name for name, _ in scope["headers"]]
        address, *_port = scope.get("client") or ("",)
        network = network_of(address)
        path = scope["path"]
        # A browser that asks first takes no place, so it is answered however busy the service is.
        early = self._refusal(scope, names) or preflight(scope, names) or self._busy(path, network)
        added = (*self._fields, *cors_fields(path))
        if b"upgrade" in names:
            # No other protocol is offered, and what a client sends behind such a request is not
            # read.
            added = (*added, CLOSE)

        async def receive_apart() -> Scope:
            # A client that sends its body slowly takes up a connection, and no place of others.
            self._leave(network)
            try:
                return await receive()
            finally:
                self._enter(network)

        async def send_with_fields(message: Scope) -> None:
            if message["type"] == "http.response.start":
                last = (CLOSE,) if connection is not None and connection.is_ending else ()
                message["headers"] = [*message["headers"], *added, *last]
            await send(message)

        if early is None:
            self._enter(network)
        try:
            if early is None:
                await self._app(scope, receive_apart, send_with_fields)
            else:
                note("guard")
                await early(scope, receive, send_with_fields)
        finally:
            if early is None:
                self._leave(network)
            if connection is not None:
                connection.answered()

    def _enter(self, network: str) -> None:
        self._under_way += 1
        self._by_network[network] = self._by_network.get(network, 0) + 1

    def _leave(self, network: str) -> None:
        self._under_way -= 1
        self._by_network[network] -= 1
        if not self._by_network[network]:
            del self._by_network[network]

    def _refusal(self, scope: Scope, names: list[bytes]) -> HttpResponse | None:
        """The refusal of a request that no handler should see."""
        path = scope["path"]
        if host_of(scope) is None:
            return self._bad(path, 400, "The request must name one host.")
        most = MAX_RETURN if path in RETURNING else MAX_QUERY
        if len(scope["query_string"]) > most:
            return self._bad(path, 414, f"The query is over {most // 1024} KB.")
        if len(names) > MAX_FIELDS or _size(scope["headers"]) > MAX_FIELD_BYTES:
            return self._bad(path, 431, "The header fields are too large.")
        return None

    def _bad(self, path: str, status: int, text: str) -> HttpResponse:
        if not is_below(path, AGENT_PATHS):
            return response(status, text.encode(), TEXT)
        error = ApiError("bad_request", text, fix=FIXES[status])
        refusal = error_response(error, self._docs_url)
        refusal.status = status
        return refusal

    def _busy(self, path: str, network: str) -> HttpResponse | None:
        """The refusal of one request too many."""
        held = self._by_network.get(network, 0)
        if self._under_way < self._at_once and held < share_of(self._at_once):
            return None
        limits_hit.labels("requests_at_once").inc()
        if is_below(path, AGENT_PATHS):
            return error_response(busy(), self._docs_url)
        if is_below(path, OAUTH_PATHS):
            refusal = response(503, b'{"error":"temporarily_unavailable"}')
        else:
            refusal = response(503, b"The service is busy; try again in a moment.", TEXT)
        refusal.headers += (b"cache-control", b"no-store"), (b"retry-after", b"1")
        return refusal


def refuse_host(scope: Scope, origins: Origins) -> HttpResponse | None:
    """The refusal of a request for the machine alone that comes under a stranger's name."""
    host = host_of(scope)
    if host is None:
        return response(400, b"Send one Host field.", TEXT)
    if host and not origins.is_harmless(host):
        return response(421, b"Invalid Host header; set SCREENER_ALLOWED_HOSTS.", TEXT)
    return None


def share_of(whole: int) -> int:
    """The part of connections, or of requests under way, that one network may have."""
    return whole // 4


def _size(headers: Iterable[Header]) -> int:
    size = 0
    for name, value in headers:
        size += len(name) + len(value)
    return size

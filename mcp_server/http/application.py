"""Application: where every request comes in and every response goes out.

A request passes once over its header: one host, a query that is not too long, its id, what is
known of its client. It takes its place among those under way, and goes to the surface of its path.
What that answers is sent with the fields that every response carries. What is unusual branches off:
a request that no surface should see (`_early`), a page (`_show`), a probe (`_probe`).
"""

from __future__ import annotations

import logging
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Protocol

from mcp_server.calls.callers import MAX_ADDRESS, Caller, network_of
from mcp_server.calls.errors import ApiError, busy
from mcp_server.http.requests import (
    HOST,
    MAX_QUERY,
    Header,
    Origins,
    Receive,
    Scope,
    Send,
    host_of,
    is_below,
    join_repeated,
)
from mcp_server.http.responses import (
    CORS_FIELDS,
    HttpResponse,
    cors_fields,
    error_response,
    preflight,
    response,
)
from screener.telemetry.metrics import limits_hit
from screener.telemetry.request import SENT_ID, Request, current
from store.accounts.audit import MAX_TEXT

MAX_RETURN = 3 * MAX_QUERY
"""For pages that lead back to another one: their query holds its path, encoded again."""
RETURNING = ("/sign-in", "/sign-up")

CONNECTION = "connection"
"""Under this name a server may put its `ServerConnection` into the state of a scope."""

API_PATHS = ("/api", "/mcp")
"""What is below is answered with the Error body; anything else in words for people."""
OAUTH_PATHS = ("/oauth/token", "/oauth/register", "/oauth/revoke")
WELL_KNOWN = "/.well-known/oauth-"
OAUTH = ("/oauth", f"{WELL_KNOWN}protected-resource", f"{WELL_KNOWN}authorization-server")
"""What is below counts as the surface `oauth`, and other pages as `web`."""

NOSNIFF: Header = (b"x-content-type-options", b"nosniff")
HSTS: Header = (b"strict-transport-security", b"max-age=31536000")
"""RFC 6797: a browser that was here over https never comes back without it for a year."""
CLOSE: Header = (b"connection", b"close")
REQUEST_ID = b"x-request-id"

TEXT = "text/plain; charset=utf-8"

App = Callable[[Scope, Receive, Send], Awaitable[None]]
Respond = Callable[[Scope, Receive], Awaitable[HttpResponse]]
"""Answers a request or raises an `ApiError`. Its scope has the header under `fields` and a `Caller`
without a credential under `caller`.
"""

log = logging.getLogger(__name__)

access_log = logging.getLogger("access")
"""One line a request at INFO, if the operator wants it."""


class ServerConnection(Protocol):
    """A connection of a server that can do more than ASGI."""

    @property
    def is_ending(self) -> bool:
        """Whether the answer that is due is its last one."""

    def answer(self, scope: Scope, status: int, fields: Sequence[Header], body: bytes) -> bool:
        """Send a whole answer at once; False if it has to be sent by messages."""


class Rest(Protocol):
    """The surface of everything below a path, and of documents elsewhere."""

    def owns(self, path: str) -> bool:
        """Whether it serves a path, given without a slash at its end."""

    async def respond(self, scope: Scope, receive: Receive) -> HttpResponse:
        """Answer a request, as `Respond` says."""


class Application:
    """The whole service as one ASGI app, behind what finds the client's real address.

    A slash at the end of a path makes no difference, without a redirect, which would drop a PUT's
    body. `record` is told of each request that was answered.
    """

    def __init__(
        self,
        pages: App,
        rest: Rest | None = None,
        mcp: Mapping[str, Respond] = MappingProxyType({}),
        probes: Mapping[str, Respond] = MappingProxyType({}),
        *,
        at_once: int,
        is_https: bool,
        docs_url: str,
        record: Callable[[Request], None] | None = None,
    ) -> None:
        """Serve pages, which hear of the lifespan too, REST, MCP addresses and probes by path."""
        self._pages, self._rest, self._mcp, self._probes = pages, rest, mcp, probes
        self._at_once = at_once
        self._share = share_of(at_once)
        self._docs_url = docs_url
        self._record = record
        self._fields: tuple[Header, ...] = (NOSNIFF, HSTS) if is_https else (NOSNIFF,)
        self._shared = (*self._fields, *CORS_FIELDS)
        # Ids are no secrets, and a system call for each would take longer than the limits do. In a
        # row they would tell how many requests there are.
        self._random = random.Random()  # noqa: S311
        self._under_way = 0
        self._by_network: dict[str, int] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._pages(scope, receive, send)
            return
        scope["path"] = path = scope["path"].rstrip("/") or "/"
        if path in self._probes:
            await self._probe(scope, receive, send)
            return
        fields = _read_header(scope)
        sent = fields.get(REQUEST_ID)
        if sent is not None and SENT_ID.fullmatch(sent):
            request = Request(sent.decode())
        else:
            request = Request(f"{self._random.getrandbits(64):016x}")
        connection: ServerConnection | None = scope.get("state", {}).get(CONNECTION)
        token = current.set(request)
        try:
            reply = await self._answer(scope, receive, send, request)
            if reply is not None:
                request.status = reply.status
                headers = reply.headers
                headers.append((REQUEST_ID, request.id.encode()))
                is_last = b"upgrade" in fields or (connection is not None and connection.is_ending)
                if is_last:
                    headers.append(CLOSE)
                elif connection and connection.answer(scope, reply.status, headers, reply.body):
                    return
                await reply(scope, receive, send)
        finally:
            request.code = request.code or str(request.status or "disconnected")
            if self._record is not None:
                self._record(request)
            if access_log.isEnabledFor(logging.INFO):
                _log(request)
            current.reset(token)

    async def _answer(
        self, scope: Scope, receive: Receive, send: Send, request: Request
    ) -> HttpResponse | None:
        """The response to a request, with the fields of its path; None if a page has sent it."""
        path, network = scope["path"], network_of(scope["caller"].address)
        held = self._by_network.get(network, 0)
        if (
            held >= self._share
            or self._under_way >= self._at_once
            or len(scope["query_string"]) > MAX_QUERY
            or scope["method"] == "OPTIONS"
            or not HOST.fullmatch(scope["fields"].get(b"host", b""))
        ) and (early := self._early(scope, network)):
            request.surface = "edge"
            early.headers += (*self._fields, *cors_fields(path))
            return early
        respond = self._mcp.get(path)
        request.surface = "mcp" if respond else "rest"
        if respond is None and self._rest is not None and self._rest.owns(path):
            respond = self._rest.respond
        self._under_way += 1
        self._by_network[network] = held + 1
        try:
            if respond is None or scope["method"] not in ("GET", "HEAD"):
                receive = partial(self._receive_apart, receive, network)
            if respond is None:
                await self._show(scope, receive, send, request)
                return None
            reply = await respond(scope, receive)
        except Exception as error:
            if respond is None:
                raise  # the pages have answered it
            reply = self._failure(error, scope)
        finally:
            self._leave(network)
        reply.headers += self._shared
        return reply

    def _failure(self, error: Exception, scope: Scope) -> HttpResponse:
        if not isinstance(error, ApiError):
            log.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
            error = ApiError("internal_error")
        return error_response(error, self._docs_url)

    async def _show(self, scope: Scope, receive: Receive, send: Send, request: Request) -> None:
        """Answer by a page, which sends its response itself."""
        connection: ServerConnection | None = scope.get("state", {}).get(CONNECTION)
        added = [*self._fields, *cors_fields(scope["path"]), (REQUEST_ID, request.id.encode())]

        async def send_with_fields(message: Scope) -> None:
            if message["type"] == "http.response.start":
                request.status = message["status"]
                ends = connection is not None and connection.is_ending
                last = (CLOSE,) if ends or b"upgrade" in scope["fields"] else ()
                message["headers"] = [*message["headers"], *added, *last]
            await send(message)

        request.surface = "web"
        try:
            await self._pages(scope, receive, send_with_fields)
        finally:
            path = getattr(scope.get("route"), "path", "")  # as it is written in the routes
            request.surface = "oauth" if is_below(path, OAUTH) else "web"
            request.operation = request.operation or path

    async def _probe(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a probe: without a limit, a count or a line in the log."""
        connection: ServerConnection | None = scope.get("state", {}).get(CONNECTION)
        reply = await self._probes[scope["path"]](scope, receive)
        reply.headers += ((b"cache-control", b"no-store"), NOSNIFF)
        if connection is not None and connection.is_ending:
            reply.headers.append(CLOSE)
        await reply(scope, receive, send)

    async def _receive_apart(self, receive: Receive, network: str) -> Scope:
        # A client that sends its body slowly, or reads a stream of news, takes up a connection and
        # no place of others.
        self._leave(network)
        try:
            return await receive()
        finally:
            self._under_way += 1
            self._by_network[network] = self._by_network.get(network, 0) + 1

    def _leave(self, network: str) -> None:
        self._under_way -= 1
        self._by_network[network] -= 1
        if not self._by_network[network]:
            del self._by_network[network]

    def _early(self, scope: Scope, network: str) -> HttpResponse | None:
        """The response to a request that no surface should see."""
        path = scope["path"]
        if host_of(scope) is None:
            return self._bad(
                path, 400, "The request must have one Host header.", "Send one Host header."
            )
        most = MAX_RETURN if path in RETURNING else MAX_QUERY
        if len(scope["query_string"]) > most:
            text = f"The query is over {most // 1024} KB."
            return self._bad(path, 414, text, "Send a shorter query.")
        # A browser that asks first takes no place, so it is answered however busy the service is.
        return preflight(scope) or self._busy(path, network)

    def _bad(self, path: str, status: int, text: str, fix: str) -> HttpResponse:
        if not is_below(path, API_PATHS):
            return response(status, text.encode(), TEXT)
        refusal = error_response(ApiError("bad_request", text, fix=fix), self._docs_url)
        refusal.status = status
        return refusal

    def _busy(self, path: str, network: str) -> HttpResponse | None:
        """The refusal of one request too many."""
        if self._under_way < self._at_once and self._by_network.get(network, 0) < self._share:
            return None
        limits_hit.labels("requests_at_once").inc()
        if is_below(path, API_PATHS):
            return error_response(busy(), self._docs_url)
        if is_below(path, OAUTH_PATHS):
            refusal = response(503, b'{"error":"temporarily_unavailable"}')
        else:
            refusal = response(503, b"The service is busy; try again in a moment.", TEXT)
        refusal.headers += (b"cache-control", b"no-store"), (b"retry-after", b"1")
        return refusal


def _read_header(scope: Scope) -> Mapping[bytes, bytes]:
    """The fields of a header by name, which the scope then has beside the `Caller`."""
    headers, client = scope["headers"], scope.get("client")
    fields: dict[bytes, bytes] = dict(headers)
    if len(fields) != len(headers):
        join_repeated(fields, headers)
    sent = (fields.get(b"x-service-client") or fields.get(b"user-agent", b""))[:MAX_TEXT]
    name = sent.decode("latin-1")
    if not name.isprintable():
        name = "".join(filter(str.isprintable, name))
    address = client[0][:MAX_ADDRESS] if client else ""
    scope["fields"] = fields
    scope["caller"] = Caller(address, client=name)
    return fields


def _log(request: Request) -> None:
    """Log a request that was answered: never its address, path, query or credential."""
    fields = {
        "surface": request.surface,
        "operation": request.operation,
        "code": request.code,
        "ms": round(request.milliseconds, 1),
        "key_prefix": request.key_prefix,
    }
    access_log.info("request", extra={name: value for name, value in fields.items() if value != ""})


def refuse_host(scope: Scope, origins: Origins) -> HttpResponse | None:
    """The refusal of a request for the machine alone that comes under a stranger's name."""
    host = host_of(scope)
    if host is None:
        return response(400, b"Send one Host header.", TEXT)
    if host and not origins.is_harmless(host):
        return response(421, b"Invalid Host header; set SCREENER_ALLOWED_HOSTS.", TEXT)
    return None


def share_of(whole: int) -> int:
    """The part of connections, or of requests under way, that one network may have."""
    return whole // 4

"""The endpoint: one stateless MCP address as an ASGI app, for both protocol eras.

A request is one POST and its response is one JSON object, so the SDK's per-call machinery
(transport, session, streams, tasks) is not needed. Requests go to the SDK's own kernel,
`serve_one`, which still defines every method; it is the only entry of the SDK that takes a message
without a transport. A valid tool call goes to the gate directly, since the gate's answer is stored
bytes. Refusals over HTTP, before any JSON-RPC, follow the SDK's transport.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp_types as types
import orjson
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.runner import modern_error_data, serve_one
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import (
    ERROR_CODE_HTTP_STATUS,
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PROTOCOL_VERSION_HEADER,
    InboundLadderRejection,
    InboundModernRoute,
    classify_inbound_request,
    find_duplicated_routing_header,
    unsupported_protocol_version_rejection,
)
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import methods
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from mcp_server.http.requests import (
    MAX_BODY,
    BodyTooLargeError,
    DisconnectedError,
    Origins,
    Receive,
    Scope,
    Send,
    accepts_json,
    read_body,
)
from mcp_server.http.responses import HttpResponse, error_response, response
from mcp_server.operations.callers import Caller
from mcp_server.operations.decoding import JsonError, decode
from mcp_server.operations.errors import ApiError
from mcp_server.operations.services import Services
from mcp_server.surface.tools import call_tool, host_name
from mcp_server.surface.toolsets import Toolset
from telemetry.request import note

METHODS = frozenset((
    "initialize", "ping", "server/discover", "tools/list", "tools/call", "prompts/list",
    "resources/list", "resources/templates/list", "resources/read",
    "notifications/initialized", "notifications/cancelled",
))  # fmt: skip
"""The methods that are told apart in metrics and logs."""

Decoded = dict[str, Any]
"""A JSON-RPC message."""

TEXT = "text/plain; charset=utf-8"

_ROUTING = tuple(
    (name, name.encode())
    for name in (MCP_PROTOCOL_VERSION_HEADER, MCP_METHOD_HEADER, MCP_NAME_HEADER)
)


class Refused(Exception):  # noqa: N818 - a response, not a fault
    """Ends a request early with a response."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__(response.status)
        self.response = response


@dataclass(slots=True)
class Exchange:
    """One request as the SDK's kernel sees it: a `DispatchContext` without a back channel."""

    transport: TransportContext
    request_id: types.RequestId
    message_metadata: ServerMessageMetadata
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)
    can_send_request: bool = False

    async def send_raw_request(
        self, method: str, _params: Mapping[str, Any] | None, _opts: object = None
    ) -> dict[str, Any]:
        """Always refused: a client that posts one request expects only the response to it."""
        raise NoBackChannelError(method)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: object = None
    ) -> None:
        """Does nothing: the response is one JSON object and has no room for notifications."""

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Does nothing, for the same reason."""


class McpEndpoint:
    """Serves an MCP server at one address."""

    def __init__(
        self, server: Server[Any], toolset: Toolset, services: Services, origins: Origins
    ) -> None:
        self._server = server
        self._services = services
        self._origins = origins
        self.toolset = toolset
        self._lifespan_state: Any = None
        stamp = {types.SERVER_INFO_META_KEY: server.server_info_stamp}
        self._stamp = orjson.dumps(stamp)[1:-1]

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve while the context is open."""
        async with self._server.lifespan(self._server) as state:
            self._lifespan_state = state
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            reply = await self._respond(scope, receive)
        except Refused as refused:
            reply = refused.response
        except ApiError as error:
            reply = error_response(error, self._services.offer.docs_url)
        await reply(scope, receive, send)

    async def _respond(self, scope: Scope, receive: Receive) -> HttpResponse:
        fields = dict(scope["headers"])
        self._check_http(fields)
        decoded = await self._counted(scope["caller"], receive)
        version = fields.get(b"mcp-protocol-version")
        era = None if version is None else version.decode("latin-1").strip()
        try:
            if era is None or era in HANDSHAKE_PROTOCOL_VERSIONS:
                return await self._legacy(decoded, era, scope)
            return await self._modern(decoded, era, scope, fields)
        except Refused:
            if self._is_call(decoded):  # It named a tool, but never came to the gate.
                await self._services.limiter.count_other(scope["caller"], "list")
            raise

    async def _counted(self, caller: Caller, receive: Receive) -> Decoded:
        """The message of a request. The gate counts calls of tools; anything else counts here.

        Raises:
            ApiError: `rate_limited`.
        """
        decoded: Decoded = {}
        try:
            decoded = await _read_message(receive)
            method = decoded.get("method")
            note("mcp", method if isinstance(method, str) and method in METHODS else "other")
        finally:
            if not self._is_call(decoded):
                await self._services.limiter.count_other(caller, "list")
        return decoded

    def _check_http(self, fields: Mapping[bytes, bytes]) -> None:
        host = fields.get(b"host", b"")
        if not self._origins.knows_host(host):
            raise Refused(_text(421, "Invalid Host header; set SCREENER_ALLOWED_HOSTS."))
        origin = fields.get(b"origin")
        if origin and not self._origins.admits(origin, host):
            raise Refused(_text(403, "Invalid Origin header; set SCREENER_ALLOWED_ORIGINS."))
        media_type = fields.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if media_type != b"application/json":
            raise Refused(_text(415, "Send the request as application/json."))
        if not accepts_json(fields.get(b"accept", b"")):
            raise Refused(_text(406, "The response is application/json; accept it."))

    async def _legacy(self, decoded: Decoded, era: str | None, scope: Scope) -> HttpResponse:
        """The response for the versions up to 2025, whose handshake leaves no state here."""
        if "id" not in decoded or "method" not in decoded:
            return _acknowledge(decoded)
        request = _request(decoded)
        version = era or types.DEFAULT_NEGOTIATED_VERSION
        result = await self._tool_result(request, version, scope["caller"])
        if result is not None:
            return _result(request.id, result)
        connection = Connection.from_envelope(version, None, None)
        body, _code = await self._dispatch(request, connection, scope)
        return response(200, body)

    async def _modern(
        self, decoded: Decoded, era: str, scope: Scope, fields: Mapping[bytes, bytes]
    ) -> HttpResponse:
        """The response for version 2026-07-28, whose requests each carry their own envelope."""
        if "id" not in decoded:
            return _acknowledge(decoded, era)
        if len(fields) != len(scope["headers"]):
            _check_repeated(scope["headers"], decoded["id"])
        routing = {}
        for name, raw in _ROUTING:
            if raw in fields:
                # An HTTP server may keep the white space around a field's value.
                routing[name] = fields[raw].decode("latin-1").strip()
        route = classify_inbound_request(decoded, headers=routing)
        request = _request(decoded)
        if isinstance(route, InboundLadderRejection):
            await self._services.limiter.count_other(scope["caller"], "list")
            return _rejection(route, request.id)
        caller = scope["caller"]._replace(host=host_name(route.client_info))
        version = route.protocol_version
        result = await self._tool_result(request, version, caller, stamp=self._stamp)
        if result is not None:
            return _result(request.id, result)
        return await self._modern_method(request, route, scope)

    async def _modern_method(
        self, request: types.JSONRPCRequest, route: InboundModernRoute, scope: Scope
    ) -> HttpResponse:
        connection = Connection.from_envelope(
            route.protocol_version, route.client_info, route.client_capabilities
        )
        body, code = await self._dispatch(request, connection, scope)
        return response(200 if code is None else ERROR_CODE_HTTP_STATUS.get(code, 200), body)

    async def _dispatch(
        self, request: types.JSONRPCRequest, connection: Connection, scope: Scope
    ) -> tuple[bytes, int | None]:
        """The kernel's response to a request, and the error code if the response is an error."""
        exchange = Exchange(
            TransportContext(kind="streamable-http", can_send_request=False),
            request.id,
            ServerMessageMetadata(request_context=scope),
        )
        try:
            found = await serve_one(
                self._server,
                exchange,
                request.method,
                request.params,
                connection=connection,
                lifespan_state=self._lifespan_state,
            )
        except Exception as error:
            data = modern_error_data(error)
            return _failure(request.id, data), data.code
        body = orjson.dumps({"jsonrpc": "2.0", "id": request.id, "result": found})
        return body, None

    async def _tool_result(
        self, request: types.JSONRPCRequest, version: str, caller: Caller, stamp: bytes = b""
    ) -> bytes | None:
        """The result of a valid tool call; None for any request that the kernel should handle."""
        params = request.params
        if request.method != "tools/call" or params is None:
            return None
        try:
            methods.validate_client_request("tools/call", version, params)
        except (ValidationError, KeyError):
            await self._services.limiter.count_other(caller, "list")
            return None
        tool = self.toolset.tools.get(params["name"])
        if tool is None:
            return None
        return await call_tool(tool, self.toolset, params, version, caller, self._services, stamp)

    def _is_call(self, decoded: Decoded) -> bool:
        """Whether a message calls one of the tools."""
        params = decoded.get("params")
        name = params.get("name") if isinstance(params, dict) else None
        called = isinstance(name, str) and name in self.toolset.tools
        return called and decoded.get("method") == "tools/call" and "id" in decoded


async def _read_message(receive: Receive) -> Decoded:
    try:
        decoded = decode(await read_body(receive))
    except BodyTooLargeError as error:
        raise Refused(_text(413, f"The request is over {MAX_BODY // 1024} KB.")) from error
    except DisconnectedError as error:
        raise Refused(_text(400, "The request was not sent completely.")) from error
    except JsonError as error:
        failure = types.ErrorData(code=types.PARSE_ERROR, message="Parse error")
        raise Refused(response(400, _failure(None, failure))) from error
    if not isinstance(decoded, dict):
        raise Refused(_invalid())
    return decoded


def _result(request_id: types.RequestId, result: bytes) -> HttpResponse:
    head = b'{"jsonrpc":"2.0","id":%b,"result":' % orjson.dumps(request_id)
    return response(200, b"".join((head, result, b"}")))


def _request(decoded: Decoded) -> types.JSONRPCRequest:
    try:
        return types.JSONRPCRequest.model_validate(decoded)
    except ValidationError as error:
        raise Refused(_invalid()) from error


def _invalid() -> HttpResponse:
    message = "Body must be a single JSON-RPC request or notification object"
    return response(
        400, _failure(None, types.ErrorData(code=types.INVALID_REQUEST, message=message))
    )


def _acknowledge(decoded: Decoded, era: str | None = None) -> HttpResponse:
    """202 for a notification; before 2026 also for a response, though none was requested."""
    model: type[types.JSONRPCNotification | types.JSONRPCResponse | types.JSONRPCError]
    if "id" not in decoded:
        model = types.JSONRPCNotification
    else:
        model = types.JSONRPCError if "error" in decoded else types.JSONRPCResponse
    try:
        model.model_validate(decoded)
    except ValidationError:
        return _invalid()
    if era is not None and (unsupported := unsupported_protocol_version_rejection(era)):
        return _rejection(unsupported, None)
    return response(202)


def _check_repeated(headers: Sequence[tuple[bytes, bytes]], request_id: Any) -> None:  # noqa: ANN401
    pairs = ((name.decode("latin-1"), "") for name, _value in headers)
    repeated = find_duplicated_routing_header(pairs)
    if repeated is not None:
        message = f"{repeated} header appears more than once"
        rejection = InboundLadderRejection(code=types.HEADER_MISMATCH, message=message)
        raise Refused(_rejection(rejection, request_id))


def _rejection(rejection: InboundLadderRejection, request_id: Any) -> HttpResponse:  # noqa: ANN401
    error = types.ErrorData(code=rejection.code, message=rejection.message, data=rejection.data)
    status = ERROR_CODE_HTTP_STATUS.get(rejection.code, 200)
    return response(status, _failure(request_id, error))


def _failure(request_id: Any, error: types.ErrorData) -> bytes:  # noqa: ANN401 - an id as sent
    shown = error.model_dump(mode="json", by_alias=True, exclude_none=True)
    return orjson.dumps({"jsonrpc": "2.0", "id": request_id, "error": shown})


def _text(status: int, text: str) -> HttpResponse:
    return response(status, text.encode(), TEXT)

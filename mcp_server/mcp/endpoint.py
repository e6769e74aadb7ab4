"""The endpoint: one stateless MCP address, for both protocol eras.

A request is one POST and its response is one JSON object, so the SDK's per-call machinery
(transport, session, streams, tasks) is not needed. Requests go to the SDK's own kernel,
`serve_one`, which still defines every method; it is the only entry of the SDK that takes a message
without a transport. A valid tool call goes to the gate directly, since the gate's answer is stored
bytes; what the SDK has found valid once is not judged again. Refusals over HTTP, before any
JSON-RPC, follow the SDK's transport.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

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
    classify_inbound_request,
    find_duplicated_routing_header,
    unsupported_protocol_version_rejection,
)
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import methods
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from mcp_server.calls.callers import Caller
from mcp_server.calls.decoding import JsonError, decode
from mcp_server.http.application import TEXT
from mcp_server.http.known import MAX_KNOWN_BYTES, Known
from mcp_server.http.requests import (
    BodyError,
    Header,
    Origins,
    Receive,
    Scope,
    accepts_json,
    read_body,
)
from mcp_server.http.responses import HttpResponse, response
from mcp_server.mcp.revisions import ASSUMED, fitting
from mcp_server.mcp.tool_calls import ToolCall, call_tool
from mcp_server.mcp.toolsets import Toolset
from mcp_server.operations.services import Services
from screener.telemetry.request import note

METHODS = methods.SPEC_CLIENT_METHODS | methods.SPEC_CLIENT_NOTIFICATION_METHODS
"""The methods that are told apart in metrics and logs."""

Decoded = dict[str, Any]
"""A JSON-RPC message."""

Key = tuple[bytes, ...]

OBJECTS = ("params", "arguments", "capabilities")
"""Members of a request, and of its parameters, that are objects."""

CONTENT_TYPE: Header = (b"content-type", b"application/json")

ROUTING = (MCP_PROTOCOL_VERSION_HEADER, MCP_METHOD_HEADER, MCP_NAME_HEADER)
RAW_ROUTING = tuple(name.encode() for name in ROUTING)


class Refused(Exception):  # noqa: N818 - a response, not a fault
    """Ends a request early with a response."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__(response.status)
        self.response = response


@dataclass(slots=True)
class RpcMessage:
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


class Authentication(Protocol):
    """Finds out who is calling, and says how to sign in."""

    async def identify(self, scope: Scope) -> Caller:
        """The caller of a request, with what its credential stands for."""

    async def refuse(self, scope: Scope, caller: Caller) -> HttpResponse | None:
        """The refusal of a request without a live credential, or that is no POST; None if it may
        go on.
        """


class McpEndpoint:
    """Serves an MCP server at one address."""

    def __init__(
        self,
        server: Server[Any],
        toolset: Toolset,
        services: Services,
        origins: Origins,
        authentication: Authentication,
    ) -> None:
        self._server = server
        self._services = services
        self._origins = origins
        self._authentication = authentication
        self.toolset = toolset
        self._lifespan_state: Any = None
        stamp = {types.SERVER_INFO_META_KEY: server.server_info_stamp}
        self._stamp = orjson.dumps(stamp)[1:-1]
        self._known = Known[Key, tuple[ToolCall, bytes]]()
        # A list is 42 us of work so; made and encoded anew each time it is 550.
        self._stored: dict[tuple[str, str, str], bytes] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve while the context is open."""
        async with self._server.lifespan(self._server) as state:
            self._lifespan_state = state
            yield

    async def respond(self, scope: Scope, receive: Receive) -> HttpResponse:
        """Answer a request.

        Raises:
            ApiError: `rate_limited` or `unavailable`, before any JSON-RPC.
        """
        is_post = scope["method"] == "POST"
        if is_post:
            scope["caller"] = await self._authentication.identify(scope)
        caller = scope["caller"]
        if (caller.principal is None or not is_post) and (
            refusal := await self._authentication.refuse(scope, caller)
        ):
            return refusal
        if refusal := self._check_http(scope["fields"]):
            return refusal
        try:
            decoded = await _read_message(receive)
        except Refused as refused:
            await self._services.limiter.count_other(caller, "list")
            return refused.response
        key = _key_of(decoded, scope)
        known = None if key is None else self._known.get(key)
        if known is None:
            return await self._judge(decoded, scope, key)
        call, stamp = known
        result, _arguments = await call_tool(call, caller, self._services, stamp)
        return _result(decoded["id"], result)

    async def _judge(self, decoded: Decoded, scope: Scope, key: Key | None) -> HttpResponse:
        """The response to a message whose form is not known yet. The gate counts calls of tools;
        anything else counts here.
        """
        fields, limiter, method = scope["fields"], self._services.limiter, decoded.get("method")
        is_call = self._is_call(decoded)
        note("mcp", method if isinstance(method, str) and method in METHODS else "other")
        if not is_call:
            await limiter.count_other(scope["caller"], "list")
        version = fields.get(b"mcp-protocol-version")
        era = None if version is None else version.decode("latin-1").strip()
        try:
            if era is None or era in HANDSHAKE_PROTOCOL_VERSIONS or _opens(decoded):
                return await self._legacy(decoded, era, scope, key)
            return await self._modern(decoded, era, scope, key)
        except Refused as refused:
            if is_call:  # It named a tool, but never came to the gate.
                await limiter.count_other(scope["caller"], "list")
            return refused.response

    def _check_http(self, fields: Mapping[bytes, bytes]) -> HttpResponse | None:
        host = fields.get(b"host", b"")
        if not self._origins.knows_host(host):
            return _text(421, "Invalid Host header; set SCREENER_ALLOWED_HOSTS.")
        origin = fields.get(b"origin")
        if origin and not self._origins.admits(origin, host):
            return _text(403, "Invalid Origin header; set SCREENER_ALLOWED_ORIGINS.")
        media_type = fields.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if media_type != b"application/json":
            return _text(415, "Send the request as application/json.")
        if not accepts_json(fields.get(b"accept", b"")):
            return _text(406, "The response is application/json; accept it.")
        return None

    async def _legacy(
        self, decoded: Decoded, era: str | None, scope: Scope, key: Key | None
    ) -> HttpResponse:
        """The response for the versions up to 2025, whose handshake leaves no state here."""
        if "id" not in decoded or "method" not in decoded:
            return _acknowledge(decoded)
        request = _request(decoded)
        version = era if era in HANDSHAKE_PROTOCOL_VERSIONS else ASSUMED
        result = await self._tool_result(request, version, scope["caller"], key)
        if result is not None:
            return _result(request.id, result)
        connection = Connection.from_envelope(version, None, None)
        return (await self._dispatch(request, version, connection, scope))[0]

    async def _modern(
        self, decoded: Decoded, era: str, scope: Scope, key: Key | None
    ) -> HttpResponse:
        """The response for version 2026-07-28, whose requests each carry their own envelope."""
        if "id" not in decoded:
            return _acknowledge(decoded, era)
        fields = scope["fields"]
        if len(fields) != len(scope["headers"]):
            _check_repeated(scope["headers"], decoded["id"])
        routing = {}
        for name, raw in zip(ROUTING, RAW_ROUTING, strict=True):
            if raw in fields:
                # An HTTP server may keep the white space around a field's value.
                routing[name] = fields[raw].decode("latin-1").strip()
        route = classify_inbound_request(decoded, headers=routing)
        request = _request(decoded)
        if isinstance(route, InboundLadderRejection):
            raise Refused(_rejection(route, request.id))
        version = route.protocol_version
        result = await self._tool_result(request, version, scope["caller"], key, self._stamp)
        if result is not None:
            return _result(request.id, result)
        connection = Connection.from_envelope(version, route.client_info, route.client_capabilities)
        reply, code = await self._dispatch(request, version, connection, scope)
        reply.status = 200 if code is None else ERROR_CODE_HTTP_STATUS.get(code, 200)
        return reply

    async def _dispatch(
        self, request: types.JSONRPCRequest, version: str, connection: Connection, scope: Scope
    ) -> tuple[HttpResponse, int | None]:
        """The kernel's response to a request, and the error code if the response is an error.

        What changes only with a release is encoded once.
        """
        params = request.params or {}
        place = request.method, version, str(params.get("uri", ""))
        names = ("_meta", "uri") if request.method == "resources/read" else ("_meta",)
        is_static = request.method in methods.CACHEABLE_METHODS and params.keys() <= {*names}
        stored = self._stored.get(place) if is_static else None
        if stored is not None and _is_valid(request.method, version, params):
            return _result(request.id, stored), None
        exchange = RpcMessage(
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
            return response(200, _failure(request.id, data)), data.code
        # What a handshake agrees on stands in its result.
        result = orjson.dumps(fitting(request.method, found.get("protocolVersion", version), found))
        if is_static:
            self._stored[place] = result
        return _result(request.id, result), None

    async def _tool_result(
        self,
        request: types.JSONRPCRequest,
        version: str,
        caller: Caller,
        key: Key | None,
        stamp: bytes = b"",
    ) -> bytes | None:
        """The result of a valid tool call; None for any request that the kernel should handle."""
        params = request.params
        if request.method != "tools/call" or params is None:
            return None
        if not _is_valid("tools/call", version, params):
            await self._services.limiter.count_other(caller, "list")
            return None
        tool = self.toolset.tools.get(params["name"])
        if tool is None:
            return None
        call = ToolCall.of(tool, self.toolset, params, version)
        result, arguments = await call_tool(call, caller, self._services, stamp)
        if key is not None and arguments is not None and not tool.operation.changes:
            self._known.keep(key, (call._replace(raw=arguments), stamp))
        return result

    def _is_call(self, decoded: Decoded) -> bool:
        """Whether a message calls one of the tools."""
        params = decoded.get("params")
        name = params.get("name") if isinstance(params, dict) else None
        called = isinstance(name, str) and name in self.toolset.tools
        return called and decoded.get("method") == "tools/call" and "id" in decoded


def _key_of(decoded: Decoded, scope: Scope) -> Key | None:
    """What a tool call says beside its id: an equal one is valid if this one is. None for what is
    no plain call, or has too many bytes to be remembered.
    """
    fields, headers = scope["fields"], scope["headers"]
    if (
        len(decoded) != 4
        or decoded.get("method") != "tools/call"
        or decoded.get("jsonrpc") != "2.0"
        or type(decoded.get("id")) not in (int, str)
        or "params" not in decoded
        or len(fields) != len(headers)
    ):
        return None
    version, method, name = map(fields.get, RAW_ROUTING)
    if b"" in (version, method, name):
        return None  # not as if the field were absent
    key = (version or b"", method or b"", name or b"", orjson.dumps(decoded["params"]))
    return key if sum(map(len, key)) <= MAX_KNOWN_BYTES else None


def _opens(decoded: Decoded) -> bool:
    """Whether a message opens a handshake, which newer revisions do not have: whatever its header
    names, an older one is proposed. One of their envelope is theirs to refuse.
    """
    params = decoded.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    enveloped = isinstance(meta, dict) and types.PROTOCOL_VERSION_META_KEY in meta
    return decoded.get("method") == "initialize" and not enveloped


def _is_valid(method: str, version: str, params: Mapping[str, Any]) -> bool:
    """Whether the SDK takes these parameters."""
    try:
        methods.validate_client_request(method, version, params)
    except (ValidationError, KeyError):
        return False
    return True


async def _read_message(receive: Receive) -> Decoded:
    try:
        decoded = decode(await read_body(receive))
    except BodyError as error:
        raise Refused(_text(error.status, f"The request {error}.")) from error
    except JsonError as error:
        failure = types.ErrorData(code=types.PARSE_ERROR, message="Parse error")
        raise Refused(response(400, _failure(None, failure))) from error
    if not isinstance(decoded, dict):
        raise Refused(_invalid())
    _set_objects(decoded)
    if isinstance(params := decoded.get("params"), dict):
        _set_objects(params)
    return decoded


def _set_objects(members: Decoded) -> None:
    """Makes an object of what must be one and is an empty array, as PHP encodes an empty one."""
    for name in OBJECTS:
        if members.get(name) == []:
            members[name] = {}


def _result(request_id: types.RequestId, result: bytes) -> HttpResponse:
    body = b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (orjson.dumps(request_id), result)
    length = b"%d" % len(body)
    return HttpResponse(200, [CONTENT_TYPE, (b"content-length", length)], body)


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

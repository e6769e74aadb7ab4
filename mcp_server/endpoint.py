"""The endpoint: one stateless MCP address as an ASGI app, for both protocol eras.

A request is one POST and its answer one JSON object, so none of the SDK's per-call machinery
(transport, session, streams, tasks) has anything to do. Requests go to the SDK's own kernel, which
stays the definition of every method; well-formed tool calls skip even that, since the gate's answer
is stored bytes. What is refused here over HTTP, before any JSON-RPC, follows the SDK's transport.
"""

from __future__ import annotations

import logging
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
    validate_mcp_param_headers,
    x_mcp_header_map,
)
from mcp.shared.message import ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import methods
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic import ValidationError

from mcp_server.callers import Caller
from mcp_server.operations import Operation
from mcp_server.origins import Origins
from mcp_server.replies import Message, Receive, Reply, Send
from mcp_server.results import result
from mcp_server.server import host_name, run_tool, tool_operation
from mcp_server.services import Services

MAX_BODY = 64 * 1024
"""Bytes of one JSON-RPC request; the largest honest one, 1,000 symbols, is about 12 KB."""

METAS_LIMIT = 1_000
"""Distinct envelopes remembered as valid: a host sends the same one with every call."""

log = logging.getLogger(__name__)

Decoded = dict[str, Any]
"""A JSON-RPC message."""

_ROUTING = tuple(
    (name, name.encode())
    for name in (MCP_PROTOCOL_VERSION_HEADER, MCP_METHOD_HEADER, MCP_NAME_HEADER)
)
_TOOL_CALL = frozenset({"name", "arguments", "_meta"})


def reply(status: int, body: bytes = b"", media_type: bytes = b"application/json") -> Reply:
    """An HTTP answer of the endpoint."""
    head = b"content-type: %b\r\ncontent-length: %d\r\n" % (media_type, len(body))
    return Reply(status, head, body)


class Refused(Exception):  # noqa: N818 - an answer, not a fault
    """Ends a request early with a reply."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.reply = reply


@dataclass(slots=True)
class Exchange:
    """One request as the SDK's kernel sees it: a `DispatchContext` without a way back."""

    transport: TransportContext
    request_id: types.RequestId
    message_metadata: ServerMessageMetadata
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)
    can_send_request: bool = False

    async def send_raw_request(
        self, method: str, _params: Mapping[str, Any] | None, _opts: object = None
    ) -> dict[str, Any]:
        """Refused: a client that posts one request waits for nothing but its answer."""
        raise NoBackChannelError(method)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: object = None
    ) -> None:
        """Dropped: the answer is one JSON object."""

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Dropped likewise."""


class Endpoint:
    """Serves an MCP server at one address."""

    def __init__(
        self, server: Server[Any], services: Services, origins: Origins, *, keyless: bool = False
    ) -> None:
        self._server = server
        self._services = services
        self._origins = origins
        self._keyless = keyless
        self._lifespan_state: Any = None
        stamp = {types.SERVER_INFO_META_KEY: server.server_info_stamp}
        self._stamp = orjson.dumps(stamp)[1:-1]
        self._metas: set[bytes] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve while inside."""
        async with self._server.lifespan(self._server) as state:
            self._lifespan_state = state
            yield

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        try:
            answer = await self._reply(scope, receive)
        except Refused as refused:
            answer = refused.reply
        await answer(scope, receive, send)

    async def _reply(self, scope: Message, receive: Receive) -> Reply:
        fields = dict(scope["headers"])
        self._check_http(fields)
        decoded = _decode(await _read_body(receive, fields))
        version = fields.get(b"mcp-protocol-version")
        era = None if version is None else version.decode("latin-1").strip()
        if era is None or era in HANDSHAKE_PROTOCOL_VERSIONS:
            return await self._legacy(decoded, era, scope)
        return await self._modern(decoded, era, scope, fields)

    def _check_http(self, fields: Mapping[bytes, bytes]) -> None:
        host = fields.get(b"host", b"").decode("latin-1")
        if not self._origins.knows_host(host):
            raise Refused(_text(421, "Invalid Host header; set SCREENER_ALLOWED_HOSTS."))
        if not self._origins.knows_origin(fields.get(b"origin", b"").decode("latin-1")):
            raise Refused(_text(403, "Invalid Origin header; set SCREENER_ALLOWED_ORIGINS."))
        media_type = fields.get(b"content-type", b"").partition(b";")[0].strip().lower()
        if media_type != b"application/json":
            raise Refused(_text(415, "Send the request as application/json."))
        if not _takes_json(fields.get(b"accept", b"*/*")):
            raise Refused(_text(406, "The answer is application/json; accept it."))

    async def _legacy(self, decoded: Decoded, era: str | None, scope: Message) -> Reply:
        """The 2025 versions, whose handshake leaves nothing behind here."""
        if "id" not in decoded or "method" not in decoded:
            return _acknowledge(decoded)
        version = era or types.DEFAULT_NEGOTIATED_VERSION
        call = self._tool_call(decoded, version)
        if call is not None:
            return await self._call(decoded, *call, scope["caller"], b"")
        request = _request(decoded)
        connection = Connection.from_envelope(version, None, None)
        body, _code = await self._dispatch(request, connection, scope)
        return reply(200, body)

    async def _modern(
        self, decoded: Decoded, era: str, scope: Message, fields: Mapping[bytes, bytes]
    ) -> Reply:
        """The version of 2026-07-28: every request carries its own envelope."""
        if "id" not in decoded:
            return _acknowledge(decoded, era)
        request_id = decoded["id"]
        if len(fields) != len(scope["headers"]):
            _check_repeated(scope["headers"], request_id)
        # A server may leave the space around a field's value, which is none of the value.
        routing = {
            name: fields[raw].decode("latin-1").strip() for name, raw in _ROUTING if raw in fields
        }
        route = classify_inbound_request(decoded, headers=routing)
        if isinstance(route, InboundLadderRejection):
            _request(decoded)
            return _rejection(route, request_id)
        call = self._tool_call(decoded, route.protocol_version)
        if call is not None:
            caller = scope["caller"]._replace(host=host_name(route.client_info))
            return await self._call(decoded, *call, caller, self._stamp)
        request = _request(decoded)
        self._check_parameter_headers(request, fields)
        return await self._modern_method(request, route, scope)

    async def _modern_method(
        self, request: types.JSONRPCRequest, route: InboundModernRoute, scope: Message
    ) -> Reply:
        connection = Connection.from_envelope(
            route.protocol_version, route.client_info, route.client_capabilities
        )
        body, code = await self._dispatch(request, connection, scope)
        return reply(200 if code is None else ERROR_CODE_HTTP_STATUS.get(code, 200), body)

    async def _dispatch(
        self, request: types.JSONRPCRequest, connection: Connection, scope: Message
    ) -> tuple[bytes, int | None]:
        """The kernel's answer to a request, and its error's code if it is one."""
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

    def _tool_call(self, decoded: Decoded, version: str) -> tuple[Operation, dict[str, Any]] | None:
        """The operation and arguments of a well-formed call of one of the tools, else None.

        Whatever is odd about a call is left for the kernel, whose words for it are the SDK's.
        """
        params = decoded.get("params")
        if decoded["method"] != "tools/call" or not isinstance(params, dict):
            return None
        name, arguments = params.get("name"), params.get("arguments", {})
        operation = tool_operation(name) if isinstance(name, str) else None
        if (
            operation is None
            or not isinstance(arguments, dict)
            or not _TOOL_CALL.issuperset(params)
        ):
            return None
        if decoded.get("jsonrpc") != "2.0" or type(decoded["id"]) not in (str, int):
            return None
        if "_meta" in params and not self._knows_meta(params["_meta"], version):
            return None
        return operation, arguments

    def _knows_meta(self, meta: object, version: str) -> bool:
        """Whether the SDK takes an envelope as valid; remembered, as hosts repeat theirs."""
        if not isinstance(meta, dict):
            return False
        if type(meta.get("progressToken", 0)) in (str, int):
            meta = {name: value for name, value in meta.items() if name != "progressToken"}
        key = version.encode() + orjson.dumps(meta)
        if key in self._metas:
            return True
        try:
            call = {"name": "demo", "_meta": meta}
            methods.validate_client_request("tools/call", version, call)
        except (ValidationError, KeyError):
            return False
        if len(self._metas) >= METAS_LIMIT:
            self._metas.clear()
        self._metas.add(key)
        return True

    async def _call(
        self,
        decoded: Decoded,
        operation: Operation,
        arguments: dict[str, Any],
        caller: Caller,
        stamp: bytes,
    ) -> Reply:
        outcome = await run_tool(
            operation, arguments, caller, self._services, keyless=self._keyless
        )
        request_id = orjson.dumps(decoded["id"])
        spliced = (b'{"jsonrpc":"2.0","id":', request_id, b',"result":', result(outcome, stamp))
        return reply(200, b"".join((*spliced, b"}")))

    def _check_parameter_headers(
        self, request: types.JSONRPCRequest, fields: Mapping[bytes, bytes]
    ) -> None:
        """Hold the `Mcp-Param-*` headers of a call to its arguments, where a tool names any."""
        params, lookup = request.params or {}, self._server.get_tool_input_schema
        name, arguments = params.get("name"), params.get("arguments", {})
        if request.method != "tools/call" or lookup is None or not isinstance(name, str):
            return
        schema = lookup(name)
        if schema is None or not isinstance(arguments, dict) or not x_mcp_header_map(schema):
            return
        headers = {
            name.decode("latin-1"): v.decode("latin-1").strip() for name, v in fields.items()
        }
        rejection = validate_mcp_param_headers(schema, arguments, headers)
        if rejection is not None:
            raise Refused(_rejection(rejection, request.id))


def _takes_json(accept: bytes) -> bool:
    for item in accept.lower().split(b","):
        if item.partition(b";")[0].strip() in (b"application/json", b"*/*", b"application/*"):
            return True
    return False


async def _read_body(receive: Receive, fields: Mapping[bytes, bytes]) -> bytes:
    declared = fields.get(b"content-length", b"0")
    if declared.isdigit() and int(declared) > MAX_BODY:
        raise Refused(_text(413, f"The request is over {MAX_BODY // 1024} KB."))
    message = await receive()
    body: bytes = message.get("body", b"")
    while message.get("more_body", False):
        message = await receive()
        body += message.get("body", b"")
        if len(body) > MAX_BODY:
            raise Refused(_text(413, f"The request is over {MAX_BODY // 1024} KB."))
    return body


def _decode(body: bytes) -> Decoded:
    try:
        decoded = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        failure = types.ErrorData(code=types.PARSE_ERROR, message="Parse error")
        raise Refused(reply(400, _failure(None, failure))) from error
    if not isinstance(decoded, dict):
        raise Refused(_invalid())
    return decoded


def _request(decoded: Decoded) -> types.JSONRPCRequest:
    try:
        return types.JSONRPCRequest.model_validate(decoded)
    except ValidationError as error:
        raise Refused(_invalid()) from error


def _invalid() -> Reply:
    message = "Body must be a single JSON-RPC request or notification object"
    return reply(400, _failure(None, types.ErrorData(code=types.INVALID_REQUEST, message=message)))


def _acknowledge(decoded: Decoded, era: str | None = None) -> Reply:
    """202 for a notification, and in the earlier era for an answer to a request never sent."""
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
    return reply(202)


def _check_repeated(headers: Sequence[tuple[bytes, bytes]], request_id: Any) -> None:  # noqa: ANN401
    pairs = ((name.decode("latin-1"), "") for name, _value in headers)
    repeated = find_duplicated_routing_header(pairs)
    if repeated is not None:
        message = f"{repeated} header appears more than once"
        rejection = InboundLadderRejection(code=types.HEADER_MISMATCH, message=message)
        raise Refused(_rejection(rejection, request_id))


def _rejection(rejection: InboundLadderRejection, request_id: Any) -> Reply:  # noqa: ANN401
    error = types.ErrorData(code=rejection.code, message=rejection.message, data=rejection.data)
    status = ERROR_CODE_HTTP_STATUS.get(rejection.code, 200)
    return reply(status, _failure(request_id, error))


def _failure(request_id: Any, error: types.ErrorData) -> bytes:  # noqa: ANN401 - an id as sent
    shown = error.model_dump(mode="json", by_alias=True, exclude_none=True)
    return orjson.dumps({"jsonrpc": "2.0", "id": request_id, "error": shown})


def _text(status: int, text: str) -> Reply:
    return reply(status, text.encode(), b"text/plain; charset=utf-8")

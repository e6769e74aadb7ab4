"""The MCP server: the official SDK's lowlevel `Server`, rendered from the operation table.

The lowlevel server is used because the decorator layer prefixes failures with its own words, and a
tool error here must begin with its code.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, MutableMapping
from contextlib import asynccontextmanager
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import mcp_types as types
import orjson
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError

from mcp_server.callers import Caller
from mcp_server.calls import Answer
from mcp_server.errors import ApiError
from mcp_server.operations import OPERATIONS, Operation, admit, invoke, record_use
from mcp_server.rules import instructions
from mcp_server.schemas import input_schema, output_schema
from mcp_server.services import Services

MAX_BODY = 64 * 1024
"""Bytes of one JSON-RPC request; the largest honest one, 1,000 symbols, is about 12 KB."""

log = logging.getLogger(__name__)

Context = ServerRequestContext[Any]
Message = MutableMapping[str, Any]
"""An ASGI scope or event."""


def tools() -> list[types.Tool]:
    """The seven tools, in the order of the operation table."""
    return [_tool(operation) for operation in OPERATIONS.values() if operation.tool]


def build_server(services: Services, *, keyless: bool = False) -> Server[Any]:
    """The MCP server over the operations; the keyless one answers only what needs no key."""
    listing = types.ListToolsResult(tools=tools())

    async def list_tools(_context: Context, _params: object) -> types.ListToolsResult:
        return listing

    async def call_tool(
        context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        operation = OPERATIONS.get(params.name)
        if operation is None or operation.tool is None:
            raise MCPError(types.INVALID_PARAMS, "Unknown tool; tools/list names the seven.")
        caller = _caller(context)
        return await _run(operation, params.arguments or {}, caller, services, keyless=keyless)

    async def record_host(ctx: Context, call_next: CallNext) -> HandlerResult:
        if ctx.method == "initialize":
            record_use("initialize", _caller(ctx), services)
        return await call_next(ctx)

    async def no_prompts(_context: Context, _params: object) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[])

    async def no_resources(_context: Context, _params: object) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[])

    schemas = {tool.name: tool.input_schema for tool in listing.tools}
    server: Server[Any] = Server(
        "pattern-screener",
        version=version("pattern-screener"),
        title="Pattern screener (demo)" if keyless else "Pattern screener",
        instructions=instructions(),
        website_url=services.offer.docs_url,
        get_tool_input_schema=schemas.get,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_prompts=no_prompts,
        on_list_resources=no_resources,
    )
    server.middleware.append(record_host)
    return server


def _caller(context: Context) -> Caller:
    """Who calls, with the host's own name: from `initialize`, or from any request since 2026."""
    caller: Caller = context.request.scope["caller"]  # type: ignore[union-attr]
    params = context.params or {}
    said = params.get("clientInfo") or (params.get("_meta") or {}).get(types.CLIENT_INFO_META_KEY)
    return replace(caller, host=_host_name(said))


def _host_name(info: object) -> str:
    if not isinstance(info, Mapping):
        return ""
    text = f"{info.get('name', '')}/{info.get('version', '')}"
    return "".join(character for character in text if character.isprintable())[:200]


class Endpoint:
    """One stateless MCP endpoint as an ASGI app; both protocol eras on one address."""

    def __init__(self, server: Server[Any], security: TransportSecuritySettings) -> None:
        self._manager = StreamableHTTPSessionManager(
            server,
            json_response=True,
            stateless=True,
            security_settings=security,
            max_request_body_size=MAX_BODY,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve while inside."""
        async with self._manager.run():
            yield

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        await self._manager.handle_request(scope, receive, send)


async def _run(
    operation: Operation,
    raw: Mapping[str, Any],
    caller: Caller,
    services: Services,
    *,
    keyless: bool,
) -> types.CallToolResult:

    async def read() -> Mapping[str, Any]:
        return raw

    try:
        if keyless and operation.access == "keyed":
            return _connect_properly(caller, services)
        answer = await invoke(operation.name, read, caller, services, surface="mcp", pictures=True)
    except ApiError as error:
        return _failure(error)
    except Exception:
        log.exception("The tool %s failed", operation.name)
        return _failure(ApiError("internal_error"))
    return _success(answer)


def _connect_properly(caller: Caller, services: Services) -> types.CallToolResult:
    refusal = ApiError(
        "missing_api_key",
        "The demo endpoint answers only demo and get_family_track_record.",
        fix=f"Connect {services.offer.mcp_url} instead and sign in, or send the header "
        "`Authorization: Bearer <API_KEY>` there.",
        allowance=admit("keyless", caller, services, "mcp").headers(),
    )
    return _failure(refusal)


def _success(answer: Answer) -> types.CallToolResult:
    content: list[types.ContentBlock] = []
    if answer.png is not None:
        image = base64.b64encode(answer.png).decode("ascii")
        content.append(types.ImageContent(data=image, mime_type="image/png"))
    if answer.caption is not None:
        content.append(types.TextContent(text=answer.caption))
    if answer.body is None:
        return types.CallToolResult(content=content, _meta=_meta(answer.allowance))
    # The JSON comes first: hosts that show one block show that one.
    content.insert(0, types.TextContent(text=answer.body.decode()))
    return types.CallToolResult(
        content=content,
        structured_content=orjson.loads(answer.body),
        _meta=_meta(answer.allowance),
    )


def _failure(error: ApiError) -> types.CallToolResult:
    text = types.TextContent(text=error.text())
    return types.CallToolResult(content=[text], is_error=True, _meta=_meta(error.allowance))


def _meta(allowance: Mapping[str, str] | None) -> dict[str, Any] | None:
    """What is left of the caller's quotas, under the names of the HTTP fields."""
    return dict(allowance) if allowance else None


def _tool(operation: Operation) -> types.Tool:
    assert operation.tool is not None  # noqa: S101 - narrows the type; callers have checked
    return types.Tool(
        name=operation.name,
        title=operation.tool.title,
        description=operation.tool.description,
        input_schema=input_schema(operation),
        output_schema=output_schema(operation),
        annotations=types.ToolAnnotations(
            title=operation.tool.title,
            read_only_hint=operation.tool.read_only,
            destructive_hint=not operation.tool.read_only,
            idempotent_hint=True,
            open_world_hint=False,
        ),
    )

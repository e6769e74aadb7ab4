"""The MCP server: the official SDK's lowlevel `Server`, rendered from the operation table.

The lowlevel server is used because the SDK's decorator layer puts its own words in front of an
error, and a tool error here must begin with its code.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from mcp_server.operations.callers import Caller
from mcp_server.operations.rules import instructions
from mcp_server.operations.schemas import input_schema, output_schema
from mcp_server.operations.services import Services
from mcp_server.operations.table import TOOLS, Operation
from mcp_server.surface.tools import call_tool, host_name

Context = ServerRequestContext[Any]


def tools() -> list[types.Tool]:
    """The seven tools, in the order of the operation table."""
    return [_tool(operation) for operation in TOOLS.values()]


def build_server(services: Services, *, keyless: bool = False) -> Server[Any]:
    """The MCP server over the operations; a keyless server answers only keyless operations."""
    listing = types.ListToolsResult(tools=tools())

    async def list_tools(_context: Context, _params: object) -> types.ListToolsResult:
        return listing

    async def respond_to_tool_call(
        context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        operation = TOOLS.get(params.name)
        if operation is None:
            raise MCPError(types.INVALID_PARAMS, "Unknown tool; tools/list names the seven.")
        result = await call_tool(
            operation, params.arguments or {}, _caller(context), services, keyless=keyless
        )
        return types.CallToolResult.model_validate_json(result)

    async def record_host(ctx: Context, call_next: CallNext) -> HandlerResult:
        if ctx.method == "initialize":
            _record_host(_caller(ctx), services)
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
        on_call_tool=respond_to_tool_call,
        on_list_prompts=no_prompts,
        on_list_resources=no_resources,
    )
    server.middleware.append(record_host)
    return server


def _record_host(caller: Caller, services: Services) -> None:
    if caller.principal is not None:
        services.usage.record(caller.principal, "initialize", caller.client, caller.host)


def _caller(context: Context) -> Caller:
    """The caller, with the host's name from `initialize` or, since 2026, from any request."""
    caller: Caller = context.request["caller"]  # type: ignore[index]
    params = context.params or {}
    meta = params.get("_meta")
    named = meta.get(types.CLIENT_INFO_META_KEY) if isinstance(meta, Mapping) else None
    said = params.get("clientInfo") or named
    return caller._replace(host=host_name(said))


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
            read_only_hint=not operation.changes,
            destructive_hint=operation.changes,
            idempotent_hint=True,
            open_world_hint=False,
        ),
    )

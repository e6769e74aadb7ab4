"""The MCP server: the official SDK's lowlevel `Server`, rendered from a toolset.

The lowlevel server is used because the SDK's decorator layer puts its own words in front of an
error, and a tool error here must begin with its code.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import mcp_types as types
import orjson
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from mcp_server.calls.callers import Caller
from mcp_server.mcp.app_page import PAGE_TYPE, PAGE_URI, page_content
from mcp_server.mcp.clients import APPS
from mcp_server.mcp.instructions import instructions
from mcp_server.mcp.tools import ToolCall, call_tool, host_name
from mcp_server.mcp.toolsets import EXTENDED, Tool, Toolset
from mcp_server.operations.services import Services
from mcp_server.presentation.identity import NAME, icons
from mcp_server.presentation.offer import Offer
from telemetry.version import VERSION

Context = ServerRequestContext[Any]

HOUR = CacheHint(ttl_ms=3_600_000, scope="public")
STATIC: tuple[CacheableMethod, ...] = (
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
)
"""What changes only with a release: its results may be reused for an hour, by anybody."""

RESOURCE_NOT_FOUND = -32002
"""The code for an unknown resource up to 2025; since 2026 its parameters are invalid (SEP-2164)."""


def tools(toolset: Toolset, offer: Offer) -> list[types.Tool]:
    """What an address lists."""
    return [_tool(tool, offer) for tool in toolset.tools.values()]


def build_server(services: Services, toolset: Toolset) -> Server[Any]:
    """The MCP server of one address."""
    offer = services.offer
    listing = types.ListToolsResult(tools=tools(toolset, offer))

    async def list_tools(_context: Context, _params: object) -> types.ListToolsResult:
        return listing

    async def respond_to_tool_call(
        context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        tool = toolset.tools.get(params.name)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, _unknown_tool(params.name, offer))
        call = ToolCall.of(tool, toolset, context.params or {}, context.protocol_version)
        result, _arguments = await call_tool(call, _caller(context), services)
        if orjson.loads(result).get("resultType") == "input_required":
            return types.InputRequiredResult.model_validate_json(result)
        return types.CallToolResult.model_validate_json(result)

    async def record_host(ctx: Context, call_next: CallNext) -> HandlerResult:
        if ctx.method == "initialize":
            _record_host(_caller(ctx), services)
        return await call_next(ctx)

    async def no_prompts(_context: Context, _params: object) -> types.ListPromptsResult:
        return types.ListPromptsResult(prompts=[])

    async def no_resources(_context: Context, _params: object) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=[])

    async def no_templates(_context: Context, _params: object) -> types.ListResourceTemplatesResult:
        # Some hosts ask for them wherever there are resources.
        return types.ListResourceTemplatesResult(resource_templates=[])

    page_content()  # A part that is missing is noticed at the start.
    schemas = {tool.name: tool.input_schema for tool in listing.tools}
    server: Server[Any] = Server(
        NAME,
        version=VERSION,
        title=toolset.title,
        instructions=instructions(offer, toolset),
        website_url=offer.docs_url,
        icons=[types.Icon.model_validate(icon) for icon in icons(offer)],
        get_tool_input_schema=schemas.get,
        on_list_tools=list_tools,
        on_call_tool=respond_to_tool_call,
        on_list_prompts=no_prompts,
        on_list_resources=no_resources,
        on_list_resource_templates=no_templates,
        on_read_resource=_read_page,
        cache_hints=dict.fromkeys(STATIC, HOUR),
    )
    server.extensions[APPS] = {"mimeTypes": [PAGE_TYPE]}
    server.middleware.append(record_host)
    return server


def _unknown_tool(name: str, offer: Offer) -> str:
    if name in EXTENDED.tools and offer.extended:
        return f"{name} is not at this address: it is at {offer.extended_url}, with the same key."
    return "Unknown tool; tools/list names the available ones."


async def _read_page(
    context: Context, params: types.ReadResourceRequestParams
) -> types.ReadResourceResult:
    if str(params.uri) != PAGE_URI:
        earlier = context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
        code = RESOURCE_NOT_FOUND if earlier else types.INVALID_PARAMS
        # The data names it for the client's program (SEP-2164); the words are for its model.
        data = {"uri": str(params.uri)}
        raise MCPError(code, f"Resource not found; the only one is {PAGE_URI}.", data)
    return types.ReadResourceResult(contents=[page_content()])


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


def _tool(tool: Tool, offer: Offer) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.describe(offer),
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=not tool.operation.changes,
            destructive_hint=tool.operation.drops,
            idempotent_hint=True,
            open_world_hint=False,
        ),
        _meta={"ui": {"resourceUri": PAGE_URI}} if tool.operation.pictured else None,
    )

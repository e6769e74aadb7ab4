"""The MCP server of an address: the official SDK's `Server`, with the tools of a toolset.

The lowlevel server is used because the SDK's decorator layer puts its own words in front of an
error, and a tool error here must begin with its code.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from importlib import resources
from typing import Any, TypeVar, get_args

import mcp_types as types
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID
from mcp.server.caching import CacheableMethod, CacheHint
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from mcp_server.calls.callers import Caller
from mcp_server.mcp.app_page import PAGE_URI, page_content
from mcp_server.mcp.tool_calls import host_name
from mcp_server.mcp.toolsets import EXTENDED, Toolset
from mcp_server.operations.services import Services
from mcp_server.presentation.identity import NAME, icons
from mcp_server.presentation.offer import Offer
from mcp_server.presentation.rules import CONTENT_RULES
from screener.telemetry.version import VERSION

Context = ServerRequestContext[Any]

Listing = TypeVar("Listing")

HOUR = CacheHint(ttl_ms=3_600_000, scope="public")
"""What changes only with a release may be reused for an hour, by anybody."""

RESOURCE_NOT_FOUND = -32002
"""The code for an unknown resource up to 2025; since 2026 its parameters are invalid (SEP-2164)."""


def tools(toolset: Toolset, offer: Offer) -> list[types.Tool]:
    """What an address lists: each row of its toolset as a tool of the SDK."""
    return [
        types.Tool(
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
        for tool in toolset.tools.values()
    ]


def build_server(services: Services, toolset: Toolset) -> Server[Any]:
    """The MCP server of one address."""
    offer = services.offer
    listed = tools(toolset, offer)

    async def refuse_tool(
        _context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        # The endpoint answers each valid call of a tool that is there.
        raise MCPError(types.INVALID_PARAMS, _unknown_tool(params.name, offer))

    async def record_host(ctx: Context, call_next: CallNext) -> HandlerResult:
        if ctx.method == "initialize" and (caller := _caller(ctx)).principal is not None:
            services.usage.record(caller.principal, "initialize", caller.client, caller.host)
        return await call_next(ctx)

    page_content()  # A part that is missing is noticed at the start.
    schemas = {tool.name: tool.input_schema for tool in listed}
    server: Server[Any] = Server(
        NAME,
        version=VERSION,
        title=toolset.title,
        instructions=instructions(offer, toolset),
        website_url=offer.docs_url,
        icons=[types.Icon.model_validate(icon) for icon in icons(offer)],
        get_tool_input_schema=schemas.get,
        on_list_tools=_always(types.ListToolsResult(tools=listed)),
        on_call_tool=refuse_tool,
        on_list_prompts=_always(types.ListPromptsResult(prompts=[])),
        on_list_resources=_always(types.ListResourcesResult(resources=[])),
        # Some hosts ask for them wherever there are resources.
        on_list_resource_templates=_always(
            types.ListResourceTemplatesResult(resource_templates=[])
        ),
        on_read_resource=_read_page,
        cache_hints=dict.fromkeys(get_args(CacheableMethod), HOUR),
    )
    server.extensions[EXTENSION_ID] = {"mimeTypes": [APP_MIME_TYPE]}
    server.middleware.append(record_host)
    return server


def instructions(offer: Offer, toolset: Toolset) -> str:
    """What an MCP host tells its model about the server of an address."""
    text = (resources.files("mcp_server.mcp") / "instructions.md").read_text("utf-8")
    rules = " ".join(f"{n}. {rule}" for n, rule in enumerate(CONTENT_RULES, 1))
    return " ".join(text.format(elsewhere=_elsewhere(offer, toolset), rules=rules).split())


def _elsewhere(offer: Offer, toolset: Toolset) -> str:
    """What the tools of an address do not reach, and where it is."""
    if toolset.keyless:
        return (
            "Only these two answer here; for the others the user connects "
            f"{offer.mcp_url} and signs in."
        )
    if "scan_setups" in toolset.tools:
        return ""
    where = f"REST below {offer.base_url}"
    if offer.extended:
        where = f"the MCP address {offer.extended_url}, and {where}"
    return (
        "These tools do not offer the ranked scan of the whole market, what changed since the "
        "night before, a search of symbols, or a ticker's record without a setup: for that "
        f"there is {where}."
    )


def _always(result: Listing) -> Callable[[Context, object], Awaitable[Listing]]:
    """A handler that gives everybody the same."""

    async def handle(_context: Context, _params: object) -> Listing:
        return result

    return handle


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


def _caller(context: Context) -> Caller:
    """The caller, with the host's name from `initialize` or, since 2026, from any request."""
    caller: Caller = context.request["caller"]  # type: ignore[index]
    params = context.params or {}
    meta = params.get("_meta")
    named = meta.get(types.CLIENT_INFO_META_KEY) if isinstance(meta, Mapping) else None
    return caller._replace(host=host_name(params.get("clientInfo") or named))

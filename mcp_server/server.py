"""The MCP server: the official SDK's lowlevel `Server`, rendered from the operation table.

The lowlevel server is used because the decorator layer prefixes failures with its own words, and a
tool error here must begin with its code.
"""

from __future__ import annotations

import base64
import logging
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import mcp_types as types
import orjson
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from mcp_server.callers import Caller
from mcp_server.errors import ApiError
from mcp_server.operations import OPERATIONS, Operation, admit, invoke, question, record_use
from mcp_server.results import Outcome
from mcp_server.rules import instructions
from mcp_server.schemas import input_schema, output_schema
from mcp_server.services import Services

log = logging.getLogger(__name__)

Context = ServerRequestContext[Any]


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
        operation = tool_operation(params.name)
        if operation is None:
            raise MCPError(types.INVALID_PARAMS, "Unknown tool; tools/list names the seven.")
        outcome = await run_tool(
            operation, params.arguments or {}, _caller(context), services, keyless=keyless
        )
        return _result(outcome)

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
    caller: Caller = context.request["caller"]  # type: ignore[index]
    params = context.params or {}
    said = params.get("clientInfo") or (params.get("_meta") or {}).get(types.CLIENT_INFO_META_KEY)
    return caller._replace(host=host_name(said))


def host_name(info: object) -> str:
    """The name and version that an MCP host gives itself, as one printable text."""
    if not isinstance(info, Mapping):
        return ""
    text = f"{info.get('name', '')}/{info.get('version', '')}"
    return "".join(character for character in text if character.isprintable())[:200]


def tool_operation(name: str) -> Operation | None:
    """The operation behind a tool's name, or None when there is no such tool."""
    operation = OPERATIONS.get(name)
    return operation if operation is not None and operation.tool is not None else None


async def run_tool(
    operation: Operation,
    raw: dict[str, Any],
    caller: Caller,
    services: Services,
    *,
    keyless: bool,
) -> Outcome:
    """What the gate says of a tool call; a refusal is an outcome like any other."""

    try:
        if keyless and operation.access == "keyed":
            return _connect_properly(caller, services)
        asked = question(operation, raw)
        return await invoke(asked, caller, services, surface="mcp", pictures=True)
    except ApiError as error:
        return error
    except Exception:
        log.exception("The tool %s failed", operation.name)
        return ApiError("internal_error")


def _connect_properly(caller: Caller, services: Services) -> ApiError:
    return ApiError(
        "missing_api_key",
        "The demo endpoint answers only demo and get_family_track_record.",
        fix=f"Connect {services.offer.mcp_url} instead and sign in, or send the header "
        "`Authorization: Bearer <API_KEY>` there.",
        allowance=admit("keyless", caller, services, "mcp"),
    )


def _result(outcome: Outcome) -> types.CallToolResult:
    meta = dict(outcome.allowance.headers()) if outcome.allowance else None
    if isinstance(outcome, ApiError):
        text = types.TextContent(text=outcome.text())
        return types.CallToolResult(content=[text], is_error=True, _meta=meta)
    content: list[types.ContentBlock] = []
    if outcome.png is not None:
        image = base64.b64encode(outcome.png.body).decode("ascii")
        content.append(types.ImageContent(data=image, mime_type="image/png"))
    if outcome.caption is not None:
        content.append(types.TextContent(text=outcome.caption))
    if outcome.page is None:
        return types.CallToolResult(content=content, _meta=meta)
    content.insert(0, types.TextContent(text=outcome.page.body.decode()))
    structured = orjson.loads(outcome.page.body)
    return types.CallToolResult(content=content, structured_content=structured, _meta=meta)


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

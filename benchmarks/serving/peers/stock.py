"""The SDK as its documentation shows it: lowlevel `Server`, stateless manager, JSON responses.

Its one tool reads the stored record and returns it as text and as structured content. It has no
sign-in, no limits and no watchlist.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from starlette.applications import Starlette

from benchmarks.serving.peers.run import stored_patterns

SCHEMA = {
    "type": "object",
    "properties": {"symbol": {"type": "string"}},
    "required": ["symbol"],
}


def build_server(database: Path) -> Server[Any]:
    """The server with its one tool."""
    patterns = stored_patterns(database)
    tool = types.Tool(
        name="get_ticker_patterns", description="Current patterns.", input_schema=SCHEMA
    )

    async def list_tools(_context: object, _params: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[tool])

    async def call_tool(
        _context: object, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        answer = patterns((params.arguments or {})["symbol"])
        text = types.TextContent(text=json.dumps(answer))
        return types.CallToolResult(content=[text], structured_content=answer)

    return Server("stock", version="1", on_list_tools=list_tools, on_call_tool=call_tool)


def application(database: Path) -> Starlette:
    """The server under the SDK's own Starlette app."""
    server = build_server(database)
    return server.streamable_http_app(json_response=True, stateless_http=True)

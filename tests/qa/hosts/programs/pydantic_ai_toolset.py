"""The MCP toolset of Pydantic AI."""

from __future__ import annotations

import json
from typing import Any

from fastmcp.client import Client
from fastmcp.client.transports import StreamableHttpTransport
from order import Called, order, result, run
from pydantic_ai import BinaryContent
from pydantic_ai.exceptions import ModelRetry
from pydantic_ai.mcp import MCPToolset
from signing_in import SignIn

GIVEN = order()
SIGN_IN = SignIn(GIVEN, "Pydantic AI")


async def once(calls: list[Called]) -> dict[str, Any]:
    """One session."""
    transport = StreamableHttpTransport(GIVEN.url, headers=GIVEN.headers, auth=SIGN_IN.auth)
    client = Client(transport, mode=GIVEN.era)
    async with MCPToolset(client) as toolset:
        tools = [tool.name for tool in await toolset.list_tools()]
        results = [await called(toolset, tool, arguments) for tool, arguments in calls]
        return {"version": client.protocol_version, "tools": tools, "results": results}


async def called(toolset: MCPToolset[None], tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """What a call gives the model."""
    try:
        answer = await toolset.direct_call_tool(tool, arguments)
    except ModelRetry as refusal:
        return result(tool, refusal.message, failed=True)
    parts = answer if isinstance(answer, list) else [answer]
    images = sum(isinstance(part, BinaryContent) and part.is_image for part in parts)
    said = next((part for part in parts if not isinstance(part, BinaryContent)), None)
    text = said if isinstance(said, str) or said is None else json.dumps(said)
    return result(tool, text, images=images)


run(GIVEN, once, SIGN_IN.restart)

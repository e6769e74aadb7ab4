"""The MCP server of the OpenAI Agents SDK."""

from __future__ import annotations

from typing import Any

from agents.mcp import MCPServerStreamableHttp
from order import Called, answers, order, run
from signing_in import SignIn

GIVEN = order()
SIGN_IN = SignIn(GIVEN, "OpenAI Agents SDK")


async def once(calls: list[Called]) -> dict[str, Any]:
    """One session."""
    params: dict[str, Any] = {"url": GIVEN.url, "headers": GIVEN.headers, "timeout": 30}
    if SIGN_IN.auth is not None:
        params["auth"] = SIGN_IN.auth
    async with MCPServerStreamableHttp(params, client_session_timeout_seconds=30) as server:
        tools = [tool.name for tool in await server.list_tools()]
        results = await answers(calls, server.call_tool)
        assert server.session is not None
        version = server.session.protocol_version
        return {"version": version, "tools": tools, "results": results}


run(GIVEN, once, SIGN_IN.restart)

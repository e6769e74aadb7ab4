"""LangChain's MCP adapters."""

from __future__ import annotations

from typing import Any

from langchain_core.tools import BaseTool, ToolException
from langchain_mcp_adapters.client import MultiServerMCPClient
from order import Called, order, read, result, run
from signing_in import SignIn

GIVEN = order()
SIGN_IN = SignIn(GIVEN, "LangChain")


async def once(calls: list[Called]) -> dict[str, Any]:
    """All tools; each call is a session."""
    connection: Any = {"transport": "streamable_http", "url": GIVEN.url, "headers": GIVEN.headers}
    if SIGN_IN.auth is not None:
        connection["auth"] = SIGN_IN.auth
    tools = {tool.name: tool for tool in await MultiServerMCPClient({"it": connection}).get_tools()}
    results = [await called(tools[tool], arguments) for tool, arguments in calls]
    return {"version": None, "tools": list(tools), "results": results}


async def called(tool: BaseTool, arguments: dict[str, Any]) -> dict[str, Any]:
    """What a call gives the model."""
    call = {"name": tool.name, "args": arguments, "id": "1", "type": "tool_call"}
    try:
        message = await tool.ainvoke(call)
    except ToolException as refusal:
        return result(tool.name, str(refusal), failed=True)
    return read(tool.name, message.content, failed=message.status == "error")


run(GIVEN, once, SIGN_IN.restart)

"""The official Python SDK in its first major version."""

from __future__ import annotations

from typing import Any

import httpx
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from order import Called, answers, order, run
from signing_in import SignIn

GIVEN = order()
SIGN_IN = SignIn(GIVEN, "Python SDK 1")


async def once(calls: list[Called]) -> dict[str, Any]:
    """One session."""
    async with (
        httpx.AsyncClient(headers=GIVEN.headers, auth=SIGN_IN.auth, timeout=30) as http,
        streamable_http_client(GIVEN.url, http_client=http) as (reading, writing, _),
        ClientSession(reading, writing) as session,
    ):
        version = (await session.initialize()).protocolVersion
        tools = [tool.name for tool in (await session.list_tools()).tools]
        results = await answers(calls, session.call_tool)
        return {"version": version, "tools": tools, "results": results}


run(GIVEN, once, SIGN_IN.restart)

"""The official Python SDK."""

from __future__ import annotations

from typing import Any

import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from order import Called, answers, order, run
from signing_in import SignIn

GIVEN = order()
SIGN_IN = SignIn(GIVEN, "Python SDK")


async def once(calls: list[Called]) -> dict[str, Any]:
    """One session."""
    async with httpx2.AsyncClient(headers=GIVEN.headers, auth=SIGN_IN.auth, timeout=30) as http:
        transport = streamable_http_client(GIVEN.url, http_client=http)
        async with Client(transport, mode=GIVEN.era) as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            results = await answers(calls, client.call_tool)
            return {"version": client.protocol_version, "tools": tools, "results": results}


run(GIVEN, once, SIGN_IN.restart)

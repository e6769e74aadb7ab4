"""The client of FastMCP."""

from __future__ import annotations

import warnings
from typing import Any

import httpx2
from fastmcp.client import Client
from fastmcp.client.auth import OAuth
from fastmcp.client.transports import StreamableHttpTransport
from order import Called, blocks, order, run, say

GIVEN = order()


class SignIn(OAuth):
    """FastMCP's own sign-in, whose browser is elsewhere."""

    async def redirect_handler(self, authorization_url: str) -> None:
        """Let the person visit the address."""
        say(open=authorization_url)


def sign_in() -> httpx2.Auth | None:
    """The sign-in, if there is to be one; its tokens are kept in memory."""
    if not GIVEN.sign_in:
        return None
    with warnings.catch_warnings(action="ignore"):
        return SignIn(GIVEN.url, client_name="FastMCP")


AUTH = sign_in()


async def once(calls: list[Called]) -> dict[str, Any]:
    """One session."""
    transport = StreamableHttpTransport(GIVEN.url, headers=GIVEN.headers, auth=AUTH)
    async with Client(transport, mode=GIVEN.era) as client:
        tools = [tool.name for tool in await client.list_tools()]
        results = []
        for tool, arguments in calls:
            answer = await client.call_tool(tool, arguments, raise_on_error=False)
            results.append(blocks(tool, answer.content, failed=answer.is_error))
        return {"version": client.protocol_version, "tools": tools, "results": results}


run(GIVEN, once)

"""The client of FastMCP."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

from fastmcp.client import Client
from fastmcp.client.auth import OAuth
from fastmcp.client.transports import StreamableHttpTransport
from key_value.aio.stores.memory import MemoryStore
from order import Called, answers, order, run, say

GIVEN = order()


class ElsewhereOAuth(OAuth):
    """FastMCP's own sign-in, whose browser is elsewhere."""

    async def redirect_handler(self, authorization_url: str) -> None:
        """Let the person visit the address."""
        say(open=authorization_url)


class SignIn:
    """The sign-in, if there is to be one."""

    def __init__(self) -> None:
        self._kept = MemoryStore()
        self.restart()

    def restart(self) -> None:
        """Begin anew with the kept tokens."""
        self.auth = self._new() if GIVEN.sign_in else None

    def _new(self) -> OAuth:
        with warnings.catch_warnings(action="ignore"):  # that tokens are kept in memory
            return ElsewhereOAuth(GIVEN.url, client_name="FastMCP", token_storage=self._kept)


SIGN_IN = SignIn()


async def once(calls: list[Called]) -> dict[str, Any]:
    """One session."""
    transport = StreamableHttpTransport(GIVEN.url, headers=GIVEN.headers, auth=SIGN_IN.auth)
    async with Client(transport, mode=GIVEN.era) as client:
        tools = [tool.name for tool in await client.list_tools()]
        results = await answers(calls, partial(client.call_tool, raise_on_error=False))
        return {"version": client.protocol_version, "tools": tools, "results": results}


run(GIVEN, once, SIGN_IN.restart)

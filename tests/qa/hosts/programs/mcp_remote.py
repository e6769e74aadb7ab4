"""mcp-remote, which hosts without remote servers start and speak with over its standard streams."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path
from typing import Any, TextIO

from mcp.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from order import Called, answers, order, run, say

GIVEN = order()
PROTOCOL = "legacy" if GIVEN.era == "legacy" else "auto"
HEADERS = [
    part for name, value in GIVEN.headers.items() for part in ("--header", f"{name}:{value}")
]
SERVER = StdioServerParameters(
    command=GIVEN.node,
    args=[f"{GIVEN.modules}/mcp-remote/dist/proxy.js", GIVEN.url, "--protocol", PROTOCOL, *HEADERS],
    # A folder of its own for tokens, and a PATH without a browser to open.
    env={"MCP_REMOTE_CONFIG_DIR": GIVEN.folder, "PATH": str(Path(GIVEN.node).parent)},
)


def watch(said: TextIO) -> None:
    """Let the person visit the address that it names, once it listens for the answer."""
    address = ""
    for line in said:
        if "/oauth/authorize?" in line:
            address = line.strip()
        if "callback server running" in line:
            say(open=address)


async def once(calls: list[Called]) -> dict[str, Any]:
    """One process of mcp-remote, whose own client speaks the 2025 handshake."""
    reading, writing = os.pipe()
    with os.fdopen(reading) as said, os.fdopen(writing, "w") as errors:
        watching = threading.Thread(target=watch, args=[said])
        watching.start()
        async with Client(stdio_client(SERVER, errlog=errors), mode="legacy") as client:
            tools = [tool.name for tool in (await client.list_tools()).tools]
            results = await answers(calls, client.call_tool)
        errors.close()
        await asyncio.to_thread(watching.join)
    return {"version": None, "tools": tools, "results": results}


run(GIVEN, once)

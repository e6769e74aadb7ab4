"""The command line of the Inspector, a process for each method."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from pathlib import Path
from typing import Any

from order import Called, order, read, run, say

GIVEN = order()
ERA = "legacy" if GIVEN.era == "legacy" else "modern"
PROGRAM = f"{GIVEN.modules}/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
ENVIRONMENT = {
    # A folder of its own for tokens, and a PATH without a browser to open.
    "HOME": GIVEN.folder,
    "MCP_STORAGE_DIR": GIVEN.folder,
    "MCP_INSPECTOR_SECRET_STORE": "file",
    "PATH": str(Path(GIVEN.node).parent),
    # It signs in where it sees no terminal.
    "MCP_AUTO_OPEN_ENABLED": "true",
}


def free_port() -> int:
    """A port for the way back from sign-in."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def command(method: str, *options: str) -> list[str]:
    """The command of one method."""
    headers = [f"{name}: {value}" for name, value in GIVEN.headers.items()]
    credentials = ["--header", *headers] if headers else []
    callback = ["--callback-url", f"http://127.0.0.1:{free_port()}/oauth/callback"]
    where = ["--cli", "--server-url", GIVEN.url, "--transport", "http", "--protocol-era", ERA]
    said = ["--format", "json", "--method", method, *options]
    return [GIVEN.node, PROGRAM, *where, *callback, *credentials, *said]


async def asked(method: str, *options: str) -> Any:
    """The answer to one method."""
    process = await asyncio.create_subprocess_exec(
        *command(method, *options),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=ENVIRONMENT,
        limit=1 << 24,
    )
    assert process.stdout is not None
    answer = asyncio.create_task(process.stdout.read())
    errors = await visits(process)
    said = await answer
    if not said:
        raise RuntimeError(errors)
    return json.loads(said)["result"]


async def visits(process: asyncio.subprocess.Process) -> str:
    """Let the person visit each address that it names; everything it says there."""
    assert process.stderr is not None
    lines = []
    async for line in process.stderr:
        lines.append(line.decode())
        if found := re.search(r"https?://\S+/oauth/authorize\?\S+", lines[-1]):
            say(open=found[0])
    return "".join(lines)


async def once(calls: list[Called]) -> dict[str, Any]:
    """The list of tools and each call."""
    tools = [tool["name"] for tool in (await asked("tools/list"))["tools"]]
    results = []
    for tool, arguments in calls:
        options = ("--tool-name", tool, "--tool-args-json", json.dumps(arguments))
        answer = await asked("tools/call", *options)
        results.append(read(tool, answer["content"], failed=answer.get("isError", False)))
    return {"version": None, "tools": tools, "results": results}


run(GIVEN, once)

"""Host values: what people paste into a host, or open, to connect it: commands, links, settings."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from urllib.parse import quote, urlencode

from mcp_server.presentation.identity import DESCRIPTION, NAME, TITLE

DEMO = f"{NAME}-demo"
"""The name under which a host keeps the demo's address."""


def claude_mcp_add(url: str, name: str = NAME, *, key: str | None = None) -> str:
    """The command of Claude Code that adds an endpoint, to be used with a key if there is one."""
    header = f' --header "Authorization: Bearer {key}"' if key else ""
    return f"claude mcp add --transport http {name} {url}{header}"


def codex_mcp_add(url: str, name: str = NAME, *, variable: str | None = None) -> str:
    """The command of Codex (developers.openai.com/codex/mcp); the variable has the key."""
    bearer = f" --bearer-token-env-var {variable}" if variable else ""
    return f"codex mcp add {name} --url {url}{bearer}"


def gemini_mcp_add(url: str, name: str = NAME, *, key: str | None = None) -> str:
    """The command of Gemini CLI (geminicli.com, MCP servers)."""
    header = f' --header "Authorization: Bearer {key}"' if key else ""
    return f"gemini mcp add --scope user --transport http{header} {name} {url}"


def inspector(url: str, *, method: str | None = None, variable: str | None = None) -> str:
    """The command of the Inspector; with a method it calls that and opens no page."""
    mode = "--cli " if method else ""
    header = f' --header "Authorization: Bearer ${variable}"' if variable else ""
    called = f" --method {method}" if method else ""
    return (
        f"npx @modelcontextprotocol/inspector {mode}--server-url {url} --transport http"
        f"{header}{called}"
    )


def curl_keyed(base_url: str) -> str:
    """Commands that take the key, keep it out of the history, and ask for the account."""
    return (
        "read -rs SCREENER_KEY && export SCREENER_KEY\n"
        f'curl -H "Authorization: Bearer $SCREENER_KEY" {base_url}/me'
    )


def curl_demo(base_url: str, symbol: str) -> str:
    """A command that needs no key."""
    return f"curl {base_url}/demo/{symbol}"


def python_keyed(url: str) -> str:
    """A program of the Python SDK, version 2, that lists the tracked tickers."""
    return f"""\
import os

import anyio
import httpx2
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client


async def main() -> None:
    headers = {{"Authorization": f"Bearer {{os.environ['SCREENER_KEY']}}"}}
    async with httpx2.AsyncClient(headers=headers) as http:
        transport = streamable_http_client("{url}", http_client=http)
        async with Client(transport) as client:
            answer = await client.call_tool("list_tracked_tickers", {{}})
    if answer.is_error:
        raise SystemExit(answer.content[0].text)  # the code, what happened, what to do
    print(answer.structured_content)


anyio.run(main)"""


def python_demo(url: str, symbol: str) -> str:
    """A program of the Python SDK, version 2, that reads a demo symbol."""
    return f"""\
import anyio
from mcp.client import Client


async def main() -> None:
    async with Client("{url}") as client:
        answer = await client.call_tool("demo", {{"symbol": "{symbol}"}})
    print(answer.structured_content)


anyio.run(main)"""


def mcp_settings(url: str) -> dict[str, object]:
    """The settings that most hosts read (`mcpServers`)."""
    return {"mcpServers": {NAME: {"type": "http", "url": url}}}


def mcp_settings_line(url: str) -> str:
    """The settings that most hosts read, in one line."""
    return json.dumps(mcp_settings(url))


def cursor_settings(url: str) -> str:
    """The settings of Cursor, which reads the key from a variable."""
    headers = {"Authorization": "Bearer ${env:SCREENER_KEY}"}
    return _indented({"mcpServers": {NAME: {"url": url, "headers": headers}}})


def vscode_settings(url: str) -> str:
    """The settings of VS Code, which asks for the key."""
    asked = {
        "type": "promptString",
        "id": "screener-key",
        "description": "API key",
        "password": True,
    }
    headers = {"Authorization": "Bearer ${input:screener-key}"}
    server = {"type": "http", "url": url, "headers": headers}
    return _indented({"inputs": [asked], "servers": {NAME: server}})


def remote_settings(url: str) -> str:
    """The settings of a host that only starts programs."""
    return _indented({"mcpServers": {NAME: {"command": "npx", "args": ["-y", "mcp-remote", url]}}})


def cursor_link(url: str, name: str = NAME) -> str:
    """Cursor's install link (cursor.com/docs/mcp/install-links)."""
    config = base64.b64encode(_compact({"url": url}).encode()).decode()
    return f"cursor://anysphere.cursor-deeplink/mcp/install?{_query(name=name, config=config)}"


def vscode_link(url: str, name: str = NAME) -> str:
    """The link of VS Code's handler (code.visualstudio.com, MCP developer guide)."""
    server = _compact({"name": name, "type": "http", "url": url})
    return f"vscode:mcp/install?{quote(server, safe='')}"


def goose_link(url: str, name: str = NAME) -> str:
    """Goose's extension link (goose-docs.ai, using extensions)."""
    query = _query(url=url, type="streamable_http", id=name, name=TITLE, description=DESCRIPTION)
    return f"goose://extension?{query}"


def _query(**fields: str) -> str:
    return urlencode(fields, quote_via=quote, safe="")


def _compact(value: Mapping[str, str]) -> str:
    return json.dumps(value, separators=(",", ":"))


def _indented(value: object) -> str:
    return json.dumps(value, indent=2)

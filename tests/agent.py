"""A real MCP client for tests: the SDK's own, in either protocol era."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx2
import mcp_types as types
from mcp.client import Client
from mcp.client.session import ElicitationFnT
from mcp.client.streamable_http import streamable_http_client

if TYPE_CHECKING:
    from tests.service import Service

ERAS = ("legacy", "2026-07-28")
"""The 2025 handshake and the stateless revision of 2026-07-28."""

INITIALIZE: dict[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "probe", "version": "1"},
}
"""What a client of the handshake says first."""


def message(method: str, **params: Any) -> dict[str, Any]:
    """A request of JSON-RPC."""
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


@asynccontextmanager
async def connected(
    url: str,
    key: str = "",
    era: str = "legacy",
    host: types.Implementation | None = None,
    ask: ElicitationFnT | None = None,
) -> AsyncIterator[Client]:
    """A connected client of a host; without a key it sends no credentials.

    With `ask` it can ask its user.
    """
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    # Without the authorities of TLS, which no test needs and which take 20 ms to read.
    async with httpx2.AsyncClient(headers=headers, timeout=30, verify=False) as http:
        transport = streamable_http_client(url, http_client=http, terminate_on_close=False)
        async with Client(
            transport, mode=era, client_info=host, elicitation_callback=ask
        ) as client:
            yield client


def post(url: str, key: str, method: str, revision: str = "", **params: Any) -> httpx2.Response:
    """What an endpoint answers a request whose header names a revision or none."""
    headers = {"Accept": "application/json, text/event-stream"}
    headers |= {"Authorization": f"Bearer {key}"} if key else {}
    headers |= {"MCP-Protocol-Version": revision} if revision else {}
    return httpx2.post(url, json=message(method, **params), headers=headers, timeout=30)


def envelope(capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """The `_meta` of a request of 2026-07-28 whose client declares some capabilities."""
    return {
        types.PROTOCOL_VERSION_META_KEY: ERAS[1],
        types.CLIENT_INFO_META_KEY: {"name": "host", "version": "1"},
        types.CLIENT_CAPABILITIES_META_KEY: capabilities,
    }


def modern(url: str, key: str, method: str, capabilities: Mapping[str, Any], **params: Any) -> Any:
    """The result of a request of 2026-07-28 whose client declares some capabilities."""
    headers = {
        "Accept": "application/json, text/event-stream",
        "Authorization": f"Bearer {key}",
        "MCP-Protocol-Version": ERAS[1],
        "Mcp-Method": method,
        "Mcp-Name": params.get("name") or params.get("uri") or "",
    }
    named = {name: value for name, value in headers.items() if value}
    body = message(method, **params, _meta=envelope(capabilities))
    return httpx2.post(url, json=body, headers=named, timeout=30).json()["result"]


async def call(client: Client, tool: str, **arguments: Any) -> types.CallToolResult:
    """Call a tool."""
    return await client.call_tool(tool, arguments)


async def asked(service: Service, tool: str, /, **arguments: Any) -> types.CallToolResult:
    """What a tool of the extended address answers the service's own account."""
    async with connected(service.extended_url, service.key) as client:
        return await call(client, tool, **arguments)


def texts(result: types.CallToolResult) -> list[str]:
    """The text blocks of a result."""
    return [block.text for block in result.content if isinstance(block, types.TextContent)]


def images(result: types.CallToolResult) -> list[types.ImageContent]:
    """The image blocks of a result."""
    return [block for block in result.content if isinstance(block, types.ImageContent)]


def text_json(result: types.CallToolResult) -> Any:
    """The first text block, parsed."""
    return json.loads(texts(result)[0])

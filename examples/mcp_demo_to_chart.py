"""From the keyless MCP demo to a drawn chart, with the official SDK's own client.

An agent host does the same: it connects, lists the tools, calls one, and shows what came back.
"""

from __future__ import annotations

import argparse
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import mcp_types as types
import screener_calls as calls
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError
from screener_client import Json, connected
from screener_errors import RefusedError, ScreenerError, UnreachableError, refusal
from script import finish, parser
from setup_words import facts, footing, summaries, title

EPILOG = """\
examples:
  mcp_demo_to_chart.py                     the demo, which needs no key
  SCREENER_KEY=... mcp_demo_to_chart.py    the demo, then your own tracked ticker
  mcp_demo_to_chart.py --symbol GOOG --folder charts
"""


class ToolError(ScreenerError):
    """A tool refused; the message begins with the error code and ends with what to do."""


async def run(options: argparse.Namespace) -> None:
    """The demo and, with a key, a tracked ticker."""
    symbol = options.symbol or shown_symbol(options.url, options.key)
    async with connected_mcp(f"{options.url}/mcp/demo") as client:
        await show_tools(client)
        if not symbol:
            print("\nThe night covers no demo symbol, so there is nothing to show.")
            return
        await show_demo(client, symbol, options.folder)
    if not options.key:
        print("\nSet SCREENER_KEY to go on to the tickers that your account tracks.")
        return
    with connected(options.url, options.key) as screener:
        screener.ask(calls.edit_tracked_tickers(add=[symbol]))
    print(f"\nYour account tracks {symbol} from now on.")
    async with connected_mcp(f"{options.url}/mcp", options.key) as client:
        await show_tracked(client, symbol, options.folder)


def shown_symbol(url: str, key: str) -> str:
    """The demo symbol with the most setups tonight; empty if the night covers none."""
    with connected(url, key) as screener:
        entries = [each for each in screener.get("/demo")["symbols"] if each["covered"]]
    return max(entries, key=lambda each: each["setups"], default={"symbol": ""})["symbol"]


@asynccontextmanager
async def connected_mcp(url: str, key: str = "") -> AsyncIterator[Client]:
    """A connected MCP client; without a key it sends no credentials."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    hooks = {"response": [say_why]}
    async with httpx2.AsyncClient(headers=headers, timeout=30, event_hooks=hooks) as http:
        transport = streamable_http_client(url, http_client=http, terminate_on_close=False)
        async with Client(transport) as client:
            yield client


async def say_why(response: httpx2.Response) -> None:
    """Report the service's own message when it refuses a connection; the SDK drops it."""
    if response.status_code in (401, 403, 429):
        raise RefusedError(refusal(await response.aread(), str(response.url)))


async def show_tools(client: Client) -> None:
    """What a host shows its model: each tool in one line."""
    listed = await client.list_tools()
    print(f"{len(listed.tools)} tools:")
    for tool in listed.tools:
        print(f"  {tool.name}: {tool.title}")


async def show_demo(client: Client, symbol: str, folder: Path) -> None:
    """The setups of a demo symbol, and the chart of the first one."""
    result = await call(client, "demo", symbol=symbol)
    body = payload(result)
    print(f"\nThe tool demo, without a key, on {body['symbol']}")
    show_setups(body)
    save_chart(result, folder / f"demo-{body['symbol']}.png")


async def show_tracked(client: Client, symbol: str, folder: Path) -> None:
    """The setups of a tracked ticker, and the chart of the first one, which is a second call."""
    body = payload(await call(client, "get_ticker_patterns", symbol=symbol))
    print(f"\nThe tool get_ticker_patterns, with a key, on {body['symbol']}")
    show_setups(body)
    for setup in body["setups"][:1]:
        chosen = {"symbol": body["symbol"], "setup_id": setup["setup_id"]}
        chart = await call(client, "get_pattern_chart", **chosen)
        save_chart(chart, folder / f"{body['symbol']}-{setup['setup_id']}.png")


async def call(client: Client, tool: str, **arguments: Any) -> types.CallToolResult:  # noqa: ANN401
    """Call a tool.

    Raises:
        ToolError: the tool refused.
    """
    result = await client.call_tool(tool, arguments)
    if result.is_error:
        raise ToolError(" ".join(texts(result)))
    return result


def payload(result: types.CallToolResult) -> Json:
    """The JSON of a result."""
    body: Json = result.structured_content or {}
    return body


def texts(result: types.CallToolResult) -> list[str]:
    """The text blocks of a result."""
    return [block.text for block in result.content if isinstance(block, types.TextContent)]


def show_setups(body: Json) -> None:
    """Every setup in words, then the session that they describe."""
    if not body["setups"]:
        print("  Nothing forms on it now.")
    for setup in body["setups"]:
        print(f"  {title(setup)}")
        for fact in [*facts(setup), *summaries(setup)]:
            print(f"    {fact}")
    print(f"  {footing(body)}")


def save_chart(result: types.CallToolResult, path: Path) -> None:
    """Write the picture of a result, when there is one."""
    images = [block for block in result.content if isinstance(block, types.ImageContent)]
    if not images:
        print("  No chart came with it; draw the two lines from their endpoints.")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(base64.b64decode(images[0].data))
    print(f"  Chart: {path}")


def main() -> None:
    """Run the example; report any failure in one line."""
    made = parser("Connect to the MCP demo, list its tools and save a chart.", EPILOG)
    made.add_argument("--symbol", help="a demo symbol (default: the one with the most setups)")
    made.add_argument(
        "--folder", type=Path, default=Path(), help="where charts go (default: this folder)"
    )
    options = made.parse_args()
    try:
        anyio.run(run, options)
    except (ExceptionGroup, MCPError, httpx2.HTTPError) as error:
        cause = innermost(error)
        if isinstance(cause, ScreenerError):
            raise cause from error
        if isinstance(cause, (MCPError, httpx2.HTTPError)):
            raise UnreachableError(f"No MCP server at {options.url}: {cause}.") from error
        raise


def innermost(error: Exception) -> Exception:
    """The actual error, taken out of the exception groups that the SDK's tasks wrap it in."""
    while isinstance(error, ExceptionGroup):
        error = error.exceptions[0]
    return error


if __name__ == "__main__":
    finish(main)

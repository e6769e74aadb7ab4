"""An agent in one loop: a model is asked a question, and calls the tools of the screener over MCP
until it can say the answer.

The model is any that answers as OpenAI's chat completions do, such as a local one: its address is
MODEL_URL, its name MODEL, its key MODEL_KEY.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import httpx2
import mcp_types as types
from mcp.client import Client
from mcp.client.streamable_http import streamable_http_client
from screener_client import CLIENT, Json
from screener_errors import ScreenerError
from script import finish, parser

MAX_TURNS = 12
"""Turns of the model, after which it is stopped: each may cost money."""

EPILOG = """\
With a key the agent has the tools of /mcp/extended, without one those of /mcp/demo.
  MODEL_URL=http://127.0.0.1:11434/v1 MODEL=qwen3 python examples/mcp_agent.py "Any forming wedge?"
"""


def main() -> None:
    """Run the agent."""
    made = parser("Answer a question with the tools of the screener.", EPILOG)
    made.add_argument("question")
    options = made.parse_args()
    print(asyncio.run(answer(options.question, options.url, options.key)))


async def answer(question: str, url: str, key: str) -> str:
    """What the model says in the end."""
    async with connected(url, key) as mcp:
        try:
            return await talk(question, mcp)
        except ScreenerError as error:
            failure = error  # raised outside, where no group is made of it
    raise failure


async def talk(question: str, mcp: Client) -> str:
    """What the model says in the end, after it has called what tools it likes."""
    tools = [as_function(tool) for tool in (await mcp.list_tools()).tools]
    said: list[Json] = [
        # The rules for showing the data to people stand in the server's instructions.
        {"role": "system", "content": mcp.instructions or ""},
        {"role": "user", "content": question},
    ]
    for _ in range(MAX_TURNS):
        message = await next_message(said, tools)
        said.append(message)
        calls = message.get("tool_calls") or []
        if not calls:
            return str(message["content"])
        for call in calls:
            text = await result_of(mcp, call["function"])
            said.append({"role": "tool", "tool_call_id": call["id"], "content": text})
    raise ScreenerError(f"The model called tools {MAX_TURNS} times and did not come to an end.")


@asynccontextmanager
async def connected(url: str, key: str) -> AsyncIterator[Client]:
    """A client of the extended tools or, without a key, of the demo."""
    headers = {"X-Service-Client": CLIENT} | ({"Authorization": f"Bearer {key}"} if key else {})
    async with httpx2.AsyncClient(headers=headers, timeout=30) as http:
        path = "/mcp/extended" if key else "/mcp/demo"
        async with Client(streamable_http_client(f"{url}{path}", http_client=http)) as client:
            yield client


def as_function(tool: types.Tool) -> Json:
    """A tool as chat completions name it."""
    parts = {"name": tool.name, "description": tool.description, "parameters": tool.input_schema}
    return {"type": "function", "function": parts}


async def next_message(said: list[Json], tools: list[Json]) -> Json:
    """What the model says next: text, or calls of tools."""
    model_url = os.environ.get("MODEL_URL", "http://127.0.0.1:11434/v1")
    headers = {"Authorization": f"Bearer {os.environ.get('MODEL_KEY', 'none')}"}
    body = {"model": os.environ.get("MODEL", "default"), "messages": said, "tools": tools}
    async with httpx.AsyncClient(headers=headers, timeout=300) as http:
        try:
            reply = await http.post(f"{model_url}/chat/completions", json=body)
            reply.raise_for_status()
            message: Json = reply.json()["choices"][0]["message"]
        except (httpx.HTTPError, ValueError, LookupError) as error:
            raise ScreenerError(f"The model at {model_url} does not answer: {error}.") from error
    return message


async def result_of(mcp: Client, function: Json) -> str:
    """What the model reads of one call: every text of the result. A refusal says what to do, so the
    model reads it too and corrects itself.
    """
    try:
        arguments: Any = json.loads(function["arguments"] or "{}")
    except ValueError:
        return "The arguments are not JSON; call again."
    result = await mcp.call_tool(function["name"], arguments)
    texts = [block.text for block in result.content if isinstance(block, types.TextContent)]
    return "\n".join(texts) or "A picture, which this program does not show."


if __name__ == "__main__":
    finish(main)

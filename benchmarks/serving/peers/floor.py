"""The floors, which send what was recorded under the name of the path.

That of REST is a raw ASGI app; that of MCP is a Starlette route, which parses the JSON body first.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

Send = Callable[[dict[str, Any]], Awaitable[None]]


class Floor:
    """Sends recorded answers, those of MCP by a route."""

    def __init__(self, folder: Path) -> None:
        self._answers: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        for about in folder.glob("*.json"):
            recorded = json.loads(about.read_text())
            body = about.with_suffix(".body").read_bytes()
            headers = [(name.encode(), value.encode()) for name, value in recorded["headers"]]
            status = {"status": recorded["status"], "headers": headers}
            start = {"type": "http.response.start", **status}
            self._answers[f"/{about.stem}"] = start, {"type": "http.response.body", "body": body}

    async def __call__(self, scope: dict[str, Any], _receive: object, send: Send) -> None:
        if scope["type"] != "http":
            return
        start, body = self._answers[scope["path"]]
        await send(start)
        await send(body)


def routes(folder: Path) -> Starlette:
    """A route for each recorded answer of MCP."""
    answers = {f"/{path.stem}": path.read_bytes() for path in folder.glob("mcp-*.body")}

    async def answer(request: Request) -> Response:
        message = await request.json()
        status = 200 if message["method"] in ("tools/call", "tools/list") else 400
        return Response(answers[request.url.path], status, media_type="application/json")

    return Starlette(routes=[Route(path, answer, methods=["POST"]) for path in answers])

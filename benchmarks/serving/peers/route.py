"""The floor of MCP: a Starlette route that parses the JSON body and sends fixed bytes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from benchmarks.serving.peers.run import arguments, serve


def endpoint(body: bytes) -> Callable[[Request], Awaitable[Response]]:
    """An endpoint that answers a JSON-RPC request with fixed bytes."""

    async def answer(request: Request) -> Response:
        message = await request.json()
        status = 200 if message["method"] in ("tools/call", "tools/list") else 400
        return Response(body, status, media_type="application/json")

    return answer


def application(folder: Path) -> Starlette:
    """A route for each recorded answer."""
    routes = [
        Route(f"/{path.stem}", endpoint(path.read_bytes()), methods=["POST"])
        for path in folder.glob("mcp-*.body")
    ]
    return Starlette(routes=routes)


if __name__ == "__main__":
    port, folder = arguments()
    serve(application(folder), port)

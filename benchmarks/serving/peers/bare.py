"""The floor of REST: a raw ASGI app that sends fixed bytes for each path."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from benchmarks.serving.peers.run import arguments, serve

Send = Callable[[dict[str, Any]], Awaitable[None]]


class Bare:
    """Sends the answer that was recorded under the name of the path."""

    def __init__(self, folder: Path) -> None:
        self._answers: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {}
        for about in folder.glob("*.json"):
            said = json.loads(about.read_text())
            body = about.with_suffix(".body").read_bytes()
            headers = [(name.encode(), value.encode()) for name, value in said["headers"]]
            start = {"type": "http.response.start", "status": said["status"], "headers": headers}
            self._answers[f"/{about.stem}"] = start, {"type": "http.response.body", "body": body}

    async def __call__(self, scope: dict[str, Any], _receive: object, send: Send) -> None:
        if scope["type"] != "http":
            return
        start, body = self._answers[scope["path"]]
        await send(start)
        await send(body)


if __name__ == "__main__":
    port, folder = arguments()
    serve(Bare(folder), port)

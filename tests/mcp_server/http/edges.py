"""Edges around an app, and requests to them without a socket."""

from __future__ import annotations

from typing import Any

from mcp_server.http.application import Application
from mcp_server.http.requests import Scope

DOCS = "https://example.com/docs"

FIRST = [(b"access-control-request-method", b"POST")]
"""What a browser sends that asks first."""


class Answer:
    """Collects what an app sends."""

    def __init__(self) -> None:
        self.status = 0
        self.fields: list[tuple[bytes, bytes]] = []
        self.body = b""

    async def send(self, message: Scope) -> None:
        if message["type"] == "http.response.start":
            self.status, self.fields = message["status"], list(message["headers"])
        else:
            self.body += message.get("body", b"")

    def field(self, name: bytes) -> bytes:
        """The one value of a field, or nothing."""
        values = [value for field, value in self.fields if field == name]
        assert len(values) < 2
        return values[0] if values else b""


def scope_of(path: str = "/", address: str = "192.0.2.1", **more: Any) -> dict[str, Any]:
    scope = {"type": "http", "method": "GET", "path": path, "client": (address, 1)}
    scope |= {"http_version": "1.0", "query_string": b"", "headers": []}  # which needs no Host
    return scope | more


def edge_of(app: Any, *, at_once: int = 8, is_https: bool = False) -> Application:
    return Application(app, at_once=at_once, is_https=is_https, docs_url=DOCS)


async def silent(*_: object) -> Any:
    raise AssertionError("Nothing may be read, and no handler is called.")


async def ask(edge: Application, scope: Scope) -> Answer:
    answer = Answer()
    await edge(scope, silent, answer.send)
    return answer

"""Front: sends a request to the surface that its path belongs to."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_server.http.requests import is_below
from oauth.metadata import RESOURCE_METADATA_ROOT, SERVER_METADATA_PATH
from rest_facade.facade import Facade
from telemetry.request import note

OAUTH = ("/oauth", RESOURCE_METADATA_ROOT, SERVER_METADATA_PATH)


class Front:
    """The surfaces by path, and the notes of which one it was.

    Trailing slashes are optional, without a redirect, which would drop a PUT's body.
    """

    def __init__(self, facade: Facade, agents: Mapping[str, ASGIApp], pages: ASGIApp) -> None:
        self._facade = facade
        self._agents = agents
        self._pages = pages

    def reads_credentials(self, scope: Scope) -> bool:
        """Whether an operation is at the address of a request; nothing else looks one up."""
        path = scope["path"].rstrip("/")
        if path in self._agents:
            return bool(scope["method"] == "POST")
        return self._facade.answers(path, scope["method"])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._pages(scope, receive, send)
            return
        path: str = scope["path"]
        if path.endswith("/"):
            path = path.rstrip("/")
            scope = {**scope, "path": path or "/"}
        surface = self._agents.get(path)
        if surface is not None:
            note("mcp")
            await surface(scope, receive, send)
        elif self._facade.owns(path):
            note("rest")
            await self._facade(scope, receive, send)
        else:
            await self._show(scope, receive, send)

    async def _show(self, scope: Scope, receive: Receive, send: Send) -> None:
        note("web")
        try:
            await self._pages(scope, receive, send)
        finally:
            path = getattr(scope.get("route"), "path", "")  # as it is written in the routes
            note("oauth" if is_below(path, OAUTH) else "web", path)

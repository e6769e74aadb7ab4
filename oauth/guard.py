"""The guard before the MCP endpoint: what is answered over HTTP before any JSON-RPC is read."""

from __future__ import annotations

from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_server.callers import Caller
from mcp_server.errors import ApiError
from oauth.metadata import ProtectedResource


class Guard:
    """Answers 405 to anything but POST, and 401 with a challenge to who must sign in.

    A bad API key passes: its tool calls fail as tool errors, so that a key never starts a sign-in.
    """

    def __init__(
        self, app: ASGIApp, resource: ProtectedResource, *, docs_url: str, keyless: bool = False
    ) -> None:
        self._app = app
        self._resource = resource
        self._docs_url = docs_url
        self._keyless = keyless

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope["method"], scope["caller"])
        await (refusal or self._app)(scope, receive, send)

    def _refusal(self, method: str, caller: Caller) -> Response | None:
        challenge = self._challenge(caller)
        if method != "POST":
            return self._not_allowed(challenge)
        if challenge is None:
            return None
        error = ApiError("invalid_api_key" if caller.refused else "missing_api_key")
        return self._json(error, {"WWW-Authenticate": challenge})

    def _challenge(self, caller: Caller) -> str | None:
        if caller.refused == "token":
            return self._resource.challenge("invalid_token")
        if caller.holder is None and caller.refused is None and not self._keyless:
            return self._resource.challenge()
        return None

    def _not_allowed(self, challenge: str | None) -> Response:
        headers = {"Allow": "POST"}
        if challenge is not None:
            headers["WWW-Authenticate"] = challenge
        error = ApiError(
            "method_not_allowed",
            "This is an MCP endpoint: it answers JSON-RPC over POST and keeps no session.",
            fix=f"Add this address to an MCP host such as Claude; {self._docs_url} says how.",
        )
        return self._json(error, headers)

    def _json(self, error: ApiError, headers: dict[str, str]) -> Response:
        return JSONResponse(
            error.body(self._docs_url),
            status_code=error.status,
            headers={**headers, "Cache-Control": "no-store"},
        )

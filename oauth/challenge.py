"""The challenge: the responses of an MCP address before any JSON-RPC is read (RFC 9728)."""

from __future__ import annotations

from starlette.responses import HTMLResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_server.http.requests import prefers_html
from mcp_server.http.responses import error_response
from mcp_server.operations.callers import Caller
from mcp_server.operations.errors import ApiError
from mcp_server.operations.services import Services
from oauth.metadata import ProtectedResource

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>An address for agents</title>
<h1>This address is for agents</h1>
<p>It speaks MCP and has no page of its own. Add it to a host such as Claude, which then asks you
to sign in.</p>
<p><a href="{docs_url}">How to connect it</a></p>
</html>
"""
"""The page for a person who opens the address in a browser."""

POLICY = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"


class ChallengeMiddleware:
    """Answers 405 to anything but POST, and 401 with a challenge to a client that must sign in.

    A bad API key passes: its tool calls fail as tool errors, so that a key never starts a sign-in.
    """

    def __init__(
        self,
        app: ASGIApp,
        resource: ProtectedResource,
        services: Services,
        *,
        keyless: bool = False,
    ) -> None:
        self._app = app
        self._resource = resource
        self._limiter = services.limiter
        self._docs_url = services.offer.docs_url
        self._keyless = keyless

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller: Caller = scope["caller"]
        challenge = None if caller.principal else self._challenge(caller)
        if scope["method"] != "POST":
            await (await self._not_allowed(scope, challenge))(scope, receive, send)
        elif challenge is not None:
            await (await self._refusal(caller, challenge))(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _refusal(self, caller: Caller, challenge: str) -> ASGIApp:
        error = ApiError("invalid_api_key" if caller.refused else "missing_api_key")
        try:
            await self._limiter.count_other(caller, "refused")
        except ApiError as limited:
            error = limited
        return error_response(error, self._docs_url, {"WWW-Authenticate": challenge})

    def _challenge(self, caller: Caller) -> str | None:
        if caller.refused == "token":
            return self._resource.challenge("invalid_token")
        if caller.refused is None and not self._keyless:
            return self._resource.challenge()
        return None

    async def _not_allowed(self, scope: Scope, challenge: str | None) -> ASGIApp:
        try:
            await self._limiter.count_other(scope["caller"], "refused")
        except ApiError as limited:
            return error_response(limited, self._docs_url)
        fields = dict(scope["headers"])
        headers = {"Allow": "POST", "Vary": "Accept"}
        if challenge is not None and b"authorization" not in fields:
            headers["WWW-Authenticate"] = challenge
        if prefers_html(fields.get(b"accept", b"")):
            headers |= {"Cache-Control": "no-store", "Content-Security-Policy": POLICY}
            return HTMLResponse(PAGE.format(docs_url=self._docs_url), 405, headers)
        error = ApiError(
            "method_not_allowed",
            "This is an MCP endpoint: it answers JSON-RPC over POST and keeps no session.",
            fix=f"Add this address to an MCP host such as Claude; {self._docs_url} says how.",
        )
        return error_response(error, self._docs_url, headers)

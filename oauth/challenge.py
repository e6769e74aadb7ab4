"""The challenge: the responses of an MCP address before any JSON-RPC is read (RFC 9728)."""

from __future__ import annotations

from collections.abc import Mapping

from mcp_server.calls.callers import Caller
from mcp_server.calls.errors import ApiError
from mcp_server.http.requests import Scope, prefers_html
from mcp_server.http.responses import HttpResponse, error_response, response
from mcp_server.operations.services import Services
from oauth.bearer import Bearer
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

HTML = "text/html; charset=utf-8"
POLICY = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"


class Challenge:
    """Refuses anything but POST with 405, and with 401 and a challenge who must sign in.

    A bad API key passes: its tool calls fail as tool errors, so that a key never starts a sign-in.
    """

    def __init__(
        self,
        bearer: Bearer,
        resource: ProtectedResource,
        services: Services,
        *,
        keyless: bool = False,
    ) -> None:
        self.identify = bearer.identify
        self._resource = resource
        self._limiter = services.limiter
        self._docs_url = services.offer.docs_url
        self._keyless = keyless

    async def refuse(self, scope: Scope, caller: Caller) -> HttpResponse | None:
        """The refusal of a request without a live credential, or that is no POST; None if it may
        go on.

        Raises:
            ApiError: `rate_limited`, of what is no POST; refusals count for the address.
        """
        value = self._value(caller)
        if scope["method"] == "POST" and value is None:
            return None
        if scope["method"] != "POST":
            await self._limiter.count_other(caller, "refused")
            return self._not_allowed(scope["fields"], value)
        error = ApiError("invalid_api_key" if caller.refused else "missing_api_key")
        try:
            await self._limiter.count_other(caller, "refused")
        except ApiError as limited:  # who may not ask so often still learns where to sign in
            error = limited
        return error_response(error, self._docs_url, {"WWW-Authenticate": value or ""})

    def _value(self, caller: Caller) -> str | None:
        """The value of the challenge to a caller; None if there is none."""
        if caller.refused == "token":
            return self._resource.challenge("invalid_token")
        if caller.principal is None and caller.refused is None and not self._keyless:
            return self._resource.challenge()
        return None

    def _not_allowed(self, fields: Mapping[bytes, bytes], challenge: str | None) -> HttpResponse:
        headers = {"Allow": "POST", "Vary": "Accept"}
        if challenge is not None and b"authorization" not in fields:
            headers["WWW-Authenticate"] = challenge
        if prefers_html(fields.get(b"accept", b"")):
            headers |= {"Cache-Control": "no-store", "Content-Security-Policy": POLICY}
            page = response(405, PAGE.format(docs_url=self._docs_url).encode(), HTML)
            page.headers += ((n.lower().encode(), v.encode()) for n, v in headers.items())
            return page
        error = ApiError(
            "method_not_allowed",
            "This is an MCP endpoint: it answers JSON-RPC over POST and keeps no session.",
            fix=f"Add this address to an MCP host such as Claude; {self._docs_url} says how.",
        )
        return error_response(error, self._docs_url, headers)

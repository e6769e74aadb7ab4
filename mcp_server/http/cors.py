"""CORS: lets the pages of any site read what needs no cookie (the Fetch standard, section 3.3).

What authenticates below these paths is a key or a token, which a page has only if a person gave it
one. So every origin gets the same fields, and none of them admits credentials. The pages of this
site are not below these paths.

Starlette's middleware is not used. It answers by Origin, so that a cache keeps a copy for each
site, and repeats the names of fields that a page asks for. In front of the edge it would answer
without bounds; behind it, a page could not read what the edge refuses.
"""

from __future__ import annotations

from mcp_server.http.requests import Header, Scope, is_below
from mcp_server.http.responses import HttpResponse

READ = b"GET, HEAD"

METHODS = {
    # GET and DELETE are answered 405, and a page should see that instead of a failed connection.
    "/mcp": b"POST, GET, DELETE",
    "/api/v1": b"GET, HEAD, PUT, PATCH",
    "/llms.txt": READ,
    "/server.json": READ,
    "/.well-known": READ,
    "/oauth/register": b"POST",
    "/oauth/token": b"POST",
    "/oauth/revoke": b"POST",
}
"""The methods that a page may use, by the path that they are below."""

ALLOWED = (
    b"Authorization, Content-Type, Accept, If-Match, If-None-Match, Last-Event-ID, "
    b"MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, X-Service-Client, *"
)
"""The star stands for any other name, such as `Mcp-Param-*`, but never for Authorization."""

EXPOSED = (
    b"WWW-Authenticate, ETag, RateLimit, RateLimit-Policy, Retry-After, "
    b"MCP-Protocol-Version, Mcp-Session-Id, X-Request-Id"
)
"""What a page may read beside the fields that it always may."""

MAX_AGE = b"7200"
"""Seconds for which a browser need not ask again; none keeps an answer for much longer."""

SHARED: tuple[Header, ...] = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", EXPOSED),
)
ASKED = b"access-control-request-method"


def cors_fields(path: str) -> tuple[Header, ...]:
    """The fields that every response of a path carries, whatever its status; none for a page."""
    return SHARED if is_below(path, METHODS) else ()


def preflight(scope: Scope) -> HttpResponse | None:
    """The response to a browser that asks what a page may send; None for any other request.

    The same bytes for everybody: nothing is looked up, and nothing of the request is repeated.
    """
    if scope["method"] != "OPTIONS" or ASKED not in scope["fields"]:
        return None
    methods = next((METHODS[start] for start in METHODS if is_below(scope["path"], (start,))), None)
    if methods is None:
        return None
    headers = [
        (b"access-control-allow-methods", methods),
        (b"access-control-allow-headers", ALLOWED),
        (b"access-control-max-age", MAX_AGE),
    ]
    return HttpResponse(204, headers)

"""Robots: what crawlers may read (RFC 9309): the pages that a stranger sees, without queries."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

PATH = "/robots.txt"

PRIVATE = (
    "/account",
    "/keys",
    "/usage",
    "/watchlist",
    "/screens",
    "/feeds/",
    "/oauth/",
    "/sign-in",
    "/sign-up",
    "/events",
    "/health/",
    "/api/",
    "/mcp",
    "/*?",
)
"""Where paths begin that are of no use to a crawler."""

PREVIEWS = ("/api/v1/demo/", "/symbols/")
"""Where pictures are that pages show when a link to them is shared."""

TEXT = "User-agent: *\n" + "".join(
    f"{rule}: {path}\n"
    for rule, paths in (("Disallow", PRIVATE), ("Allow", PREVIEWS))
    for path in paths
)


async def robots(_request: Request) -> Response:
    """The file."""
    return PlainTextResponse(TEXT, headers={"Cache-Control": "public, max-age=3600"})

"""Return paths: where a visitor goes after signing in, which is always a page of this site."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from starlette.requests import Request

from mcp_server.http.requests import MAX_QUERY

LANDING = "/keys"
MAX_TARGET = MAX_QUERY + 1024

# One leading slash without a second one, and no character that browsers drop or read as a slash:
# no backslash, white space or control character.
TARGET = re.compile(r"/(?![/\\])[!-\[\]-~]*")


def safe_target(target: str) -> str:
    """The target if it is a path of this site, else the page of keys."""
    if len(target) <= MAX_TARGET and TARGET.fullmatch(target):
        return target
    return LANDING


def address_of(request: Request) -> str:
    """The path and query of a request, in one spelling."""
    query = urlencode(request.query_params.multi_items())
    return f"{request.url.path}?{query}" if query else request.url.path


def sign_in_address(request: Request) -> str:
    """The sign-in address that brings an anonymous visitor back to this page."""
    return "/sign-in?" + urlencode({"next": address_of(request)})

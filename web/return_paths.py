"""Returns: where a visitor goes after signing in, which is always a page of this site."""

from __future__ import annotations

import re
from urllib.parse import urlencode

from starlette.requests import Request

LANDING = "/keys"
MAX_TARGET = 16 * 1024

# One slash and no second one, and nothing that browsers read as a slash or drop: a backslash, white
# space, a control character.
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
    """Where an anonymous visitor signs in and comes back from, to this page."""
    return "/sign-in?" + urlencode({"next": address_of(request)})

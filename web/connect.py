"""Connect: how each host connects to this service, one tab a host."""

from __future__ import annotations

from starlette.requests import Request

from mcp_server.http.responses import PUBLIC_HOUR, HttpResponse
from mcp_server.operations.hosts import ACCESS_WORDS, hosts
from mcp_server.operations.services import Offer
from web.pages import Pages, public_page

PATH = "/connect"

LANGUAGES = {
    "command": "sh",
    "address": "text",
    "link": "text",
    "settings": "json",
    "program": "python",
}
"""What a value is written in, by its kind, for Markdown."""


class ConnectPage:
    """One page, the same for everybody."""

    def __init__(self, pages: Pages, offer: Offer) -> None:
        self._page = pages.public(
            "connect",
            PATH,
            hosts=hosts(offer),
            access=ACCESS_WORDS,
            languages=LANGUAGES,
            offer=offer,
        )

    async def respond(self, request: Request) -> HttpResponse:
        """The page."""
        return public_page(request, self._page, PUBLIC_HOUR)

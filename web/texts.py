"""Texts: pages of Markdown, rendered when the service starts: privacy and terms."""

from __future__ import annotations

from starlette.requests import Request

from mcp_server.http.responses import PUBLIC_HOUR, HttpResponse
from web.markdown import rendered
from web.pages import Pages, PublicPage, public_page


class TextPage:
    """One page, the same for everybody; programs may have its source."""

    def __init__(self, pages: Pages, path: str, title: str, text: str) -> None:
        html = pages.render("text.html", path, title=title, text=rendered(text).html)
        self._page = PublicPage.of(html, text)

    async def respond(self, request: Request) -> HttpResponse:
        """The page."""
        return public_page(request, self._page, PUBLIC_HOUR)

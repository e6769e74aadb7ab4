"""Texts: pages of Markdown, rendered when the service starts: documentation, privacy and terms."""

from __future__ import annotations

from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.requests import Request

from mcp_server.http.responses import PUBLIC_HOUR, HttpResponse
from web.pages import Pages, PublicPage, public_page


class TextPage:
    """One page, the same for everybody."""

    def __init__(self, pages: Pages, path: str, title: str, text: str) -> None:
        # The text is rendered with HTML switched off, so it is safe without escaping.
        content = Markup(_render(text))  # noqa: S704
        html = pages.render("text.html", path, title=title, text=content)
        self._page = PublicPage.of(html, text)

    async def respond(self, request: Request) -> HttpResponse:
        """The page."""
        return public_page(request, self._page, PUBLIC_HOUR)


def _render(text: str) -> str:
    html = str(MarkdownIt("commonmark", {"html": False}).enable("table").render(text))
    return html.replace("<table>", '<div class="table"><table>').replace(
        "</table>", "</table></div>"
    )

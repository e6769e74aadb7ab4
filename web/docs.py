"""The documentation page: the agent reference, rendered for people when the service starts."""

from __future__ import annotations

from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from rest_facade.responses import ONE_HOUR, stored
from web.pages import Pages, protect

HTML = "text/html; charset=utf-8"


class DocsPage:
    """One page, the same for everybody."""

    def __init__(self, pages: Pages, text: str) -> None:
        # The text is rendered with HTML switched off, so it is safe as it is.
        self._body = pages.render("docs.html", "/docs", text=Markup(_render(text))).encode()  # noqa: S704

    async def answer(self, request: Request) -> Response:
        """The page."""
        known = request.headers.get("if-none-match")
        response = stored(self._body, HTML, f"public, {ONE_HOUR}", known, None)
        protect(response)
        return response


def _render(text: str) -> str:
    html = str(MarkdownIt("commonmark", {"html": False}).enable("table").render(text))
    return html.replace("<table>", '<div class="table"><table>').replace(
        "</table>", "</table></div>"
    )

"""The documentation page: the agent reference, rendered for people."""

from __future__ import annotations

import base64
import hashlib
from importlib import resources

from jinja2 import Environment, PackageLoader, select_autoescape
from markdown_it import MarkdownIt
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import Response

from rest_facade.responses import ONE_HOUR, stored

HTML = "text/html; charset=utf-8"


class DocsPage:
    """One page without scripts or outside assets, rendered when the service starts."""

    def __init__(self, text: str) -> None:
        style = resources.files("web").joinpath("templates/docs.css").read_text(encoding="utf-8")
        pages = Environment(loader=PackageLoader("web"), autoescape=select_autoescape())
        page = pages.get_template("docs.html")
        # The style is ours and the text is rendered with HTML switched off: both are safe as is.
        self._body = page.render(style=Markup(style), text=Markup(_render(text))).encode()  # noqa: S704
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        self._policy = (
            f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; "
            "form-action 'none'; frame-ancestors 'none'"
        )

    async def answer(self, request: Request) -> Response:
        """The page."""
        known = request.headers.get("if-none-match")
        response = stored(self._body, HTML, f"public, {ONE_HOUR}", known, None)
        response.headers["Content-Security-Policy"] = self._policy
        response.headers["X-Content-Type-Options"] = "nosniff"
        response.headers["Referrer-Policy"] = "no-referrer"
        return response


def _render(text: str) -> str:
    html = str(MarkdownIt("commonmark", {"html": False}).enable("table").render(text))
    return html.replace("<table>", '<div class="table"><table>').replace(
        "</table>", "</table></div>"
    )

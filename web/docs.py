"""Docs: the reference with its contents, a search, and a sample of each route and tool."""

from __future__ import annotations

from starlette.requests import Request

from mcp_server.http.responses import PUBLIC_HOUR, HttpResponse
from mcp_server.operations.services import Offer
from web.markdown import rendered
from web.pages import Pages, PublicPage, public_page
from web.samples import load_samples

PATH = "/docs"


class DocsPage:
    """One page, the same for everybody; programs have the reference alone."""

    def __init__(self, pages: Pages, offer: Offer, reference: str) -> None:
        samples = load_samples(offer.public_url)
        html = pages.render(
            "docs.html",
            PATH,
            text=rendered(reference),
            groups=[
                (title, [sample for sample in samples if sample.surface == surface])
                for surface, title in (("rest", "REST routes"), ("mcp", "MCP tools"))
            ],
        )
        self._page = PublicPage.of(html, reference)

    async def respond(self, request: Request) -> HttpResponse:
        """The page."""
        return public_page(request, self._page, PUBLIC_HOUR)

"""Docs: the reference with its contents, a search, and a sample of each route and tool."""

from __future__ import annotations

from mcp_server.operations.offer import Offer
from web.markdown import rendered
from web.pages import Pages, PublicPage
from web.samples import load_samples

PATH = "/docs"


def docs_page(pages: Pages, offer: Offer, reference: str) -> PublicPage:
    """One page; programs have the reference alone."""
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
    return PublicPage.of(html, reference)

"""Docs: the reference with its contents, a search, and a sample of each route and tool."""

from __future__ import annotations

from mcp_server.presentation.offer import Offer
from web.about.markdown import rendered
from web.about.samples import load_samples
from web.site.pages import Context

PATH = "/docs"


def docs_page(offer: Offer, reference: str) -> Context:
    """What the page shows; programs have the reference alone."""
    samples = load_samples(offer.public_url)
    groups = [
        (title, [sample for sample in samples if sample.surface == surface])
        for surface, title in (("rest", "REST routes"), ("mcp", "MCP tools"))
    ]
    return {"source": reference, "text": rendered(reference), "groups": groups}

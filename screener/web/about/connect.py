"""Connect: how each host connects to this service, one tab a host."""

from __future__ import annotations

from mcp_server.presentation.hosts import ACCESS_WORDS, hosts
from mcp_server.presentation.offer import Offer
from screener.web.site.pages import Context

PATH = "/connect"

LANGUAGES = {
    "command": "sh",
    "address": "text",
    "link": "text",
    "settings": "json",
    "program": "python",
}
"""What a value is written in, by its kind, for Markdown."""


def connect_page(offer: Offer) -> Context:
    """What the page shows."""
    return {
        "hosts": hosts(offer),
        "access": ACCESS_WORDS,
        "languages": LANGUAGES,
        "offer": offer,
    }

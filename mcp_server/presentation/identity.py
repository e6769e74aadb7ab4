"""Identity: what the service is to hosts, registries and people.

The one place for its names, its descriptions, its icons, the protocol's versions and its addresses.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from importlib import resources
from urllib.parse import urlsplit

from mcp_server.presentation.offer import Offer

NAME = "pattern-screener"
TITLE = "Pattern screener"
DESCRIPTION = "Breakout chart patterns of a nightly market scan, each with an honest record."
"""At most 100 characters, as the registry and server cards want it."""
SUMMARY = (
    "Breakout chart patterns (wedges, pennants, triangles) on stocks, ETFs and crypto, found by a "
    "nightly market scan, each with its trend lines, trigger, stop, target and an honest record of "
    "how the same pattern did."
)

PROTOCOL_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
"""The revisions of MCP that every endpoint speaks, oldest first."""

ICON_PATHS: Mapping[str, str] = {
    "48x48": "/icon-48.png",
    "96x96": "/icon-96.png",
    "192x192": "/icon-192.png",
    "any": "/icon.svg",
}
"""The addresses of the icon by its size in pixels; they never change."""


def icon(name: str) -> bytes:
    """A file of the icon by its name, such as `icon.svg`."""
    return resources.files("mcp_server").joinpath("icons", name).read_bytes()


def icons(offer: Offer) -> list[dict[str, object]]:
    """The icon in all its sizes, as MCP names them (`Icon` of 2025-11-25)."""
    return [
        {
            "src": offer.public_url + path,
            "mimeType": "image/svg+xml" if size == "any" else "image/png",
            "sizes": [size],
        }
        for size, path in ICON_PATHS.items()
    ]


def remotes(offer: Offer) -> tuple[str, ...]:
    """The addresses of the MCP endpoints."""
    extended = (offer.extended_url,) if offer.extended else ()
    return (offer.mcp_url, offer.demo_url, *extended)


def registry_name(offer: Offer) -> str:
    """The name in registries: the public host backwards, a slash, and the name of the service."""
    return offer.registry_name or f"{'.'.join(reversed(host_of(offer).split('.')))}/{NAME}"


def host_of(offer: Offer) -> str:
    """The public host without its port; of a bare network address, which no registry lists,
    `localhost`."""
    host = urlsplit(offer.public_url).hostname or "localhost"
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host
    return "localhost"

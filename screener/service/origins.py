"""Origins: which Host and Origin fields the MCP endpoints accept."""

from __future__ import annotations

from urllib.parse import urlsplit

from mcp_server.http.requests import Origins
from oauth.addresses import is_ip_address, is_public
from screener.settings.settings import Settings

LOOPBACK = ("127.0.0.1:*", "localhost:*", "[::1]:*")

PRIVATE = ("localhost", "local", "internal", "home.arpa", "lan", "home", "corp", "intranet")
"""Endings of names that mean nothing on the Internet (RFC 6761, 6762 and 8375, and by custom)."""


def origins_of(settings: Settings) -> Origins:
    """The Host and Origin fields that the MCP endpoints accept.

    A page of any site may call a service on the Internet. It may not call one on loopback or on a
    private network, where the browser reaches more than the stranger who wrote the page.
    """
    host = urlsplit(settings.url).netloc
    loopback = [f"http://{name}" for name in LOOPBACK]
    return Origins(
        hosts=[host, *LOOPBACK, *settings.allowed_hosts],
        origins=[settings.url, *loopback, *settings.allowed_origins],
        open_host=host if is_on_the_internet(settings.url) else None,
    )


def is_on_the_internet(url: str) -> bool:
    """Whether an address is https, with a name or number that everybody can reach."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme != "https":
        return False
    if is_ip_address(host):
        return is_public(host)
    name = host.removesuffix(".")
    return "." in name and not name.endswith(tuple(f".{ending}" for ending in PRIVATE))

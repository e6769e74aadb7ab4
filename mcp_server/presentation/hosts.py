"""Hosts: how each agent host connects to the service, from the table `hosts.toml`."""

from __future__ import annotations

import base64
import json
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Literal
from urllib.parse import quote, urlencode

from mcp_server.presentation.identity import DESCRIPTION, NAME, TITLE
from mcp_server.presentation.offer import Offer

KEY = "<API_KEY>"
"""What stands in the place of a key."""

Access = Literal["sign_in", "key", "none"]
"""By what a way connects: an account that signs in, a key of one, or nothing."""

ACCESS_WORDS: dict[Access, str] = {
    "sign_in": "Sign in",
    "key": "With a key",
    "none": "Without an account",
}

Kind = Literal["command", "address", "link", "settings", "program"]
"""A command for a terminal, an address to type in, a link that opens the host, settings, code."""


@dataclass(frozen=True, slots=True)
class Way:
    """One way to connect a host."""

    key: str
    """Its name in the map of links."""
    access: Access
    kind: Kind
    words: str
    """What a person does with the value."""
    value: str

    @property
    def text(self) -> str:
        """The value, and for an address also where it belongs."""
        return f"{self.words} {self.value}" if self.kind == "address" else self.value

    @property
    def fits_a_line(self) -> bool:
        """Whether programs and tables can show it."""
        return "\n" not in self.value


@dataclass(frozen=True, slots=True)
class Host:
    """A program that people connect."""

    key: str
    """Its place on the page."""
    name: str
    ways: tuple[Way, ...]

    def title(self, way: Way) -> str:
        """The host and how it gets in, in words."""
        return f"{self.name}: {ACCESS_WORDS[way.access].lower()}"


def hosts(offer: Offer) -> tuple[Host, ...]:
    """How each host connects to a service, the commonest first."""
    text = files(__package__).joinpath("hosts.toml").read_text("utf-8")
    return tuple(_host(row, offer) for row in tomllib.loads(text)["hosts"])


def install(offer: Offer) -> dict[str, str]:
    """How each host connects, by the name of the way, for the map of links."""
    return {way.key: way.text for host in hosts(offer) for way in host.ways if way.fits_a_line}


def _host(row: Mapping[str, Any], offer: Offer) -> Host:
    ways = (Way(**{**way, "value": _value(row["key"], way, offer)}) for way in row["ways"])
    return Host(
        row["key"],
        row["name"],
        tuple(way for way in ways if offer.extended or way.key != "extended"),
    )


def _value(host: str, way: Mapping[str, str], offer: Offer) -> str:
    """The value of a way, with what it names of the offer in its places."""
    places = {
        "{url}": offer.mcp_url,
        "{demo_url}": offer.demo_url,
        "{extended_url}": offer.extended_url,
        "{base_url}": offer.base_url,
        "{symbol}": offer.example or (*offer.demo_symbols, "SYMBOL")[0],
    }
    value = way["value"]
    for place, named in places.items():
        value = value.replace(place, named)
    if way["kind"] == "link":
        return LINKS[host](value, f"{NAME}-demo" if way["access"] == "none" else NAME)
    return value


def _cursor_link(url: str, name: str) -> str:
    """Cursor's install link (cursor.com/docs/mcp/install-links)."""
    config = base64.b64encode(_compact({"url": url}).encode()).decode()
    return f"cursor://anysphere.cursor-deeplink/mcp/install?{_query(name=name, config=config)}"


def _vscode_link(url: str, name: str) -> str:
    """The link of VS Code's handler (code.visualstudio.com, MCP developer guide)."""
    server = _compact({"name": name, "type": "http", "url": url})
    return f"vscode:mcp/install?{quote(server, safe='')}"


def _goose_link(url: str, name: str) -> str:
    """Goose's extension link (goose-docs.ai, using extensions)."""
    query = _query(url=url, type="streamable_http", id=name, name=TITLE, description=DESCRIPTION)
    return f"goose://extension?{query}"


LINKS: Mapping[str, Callable[[str, str], str]] = {
    "cursor": _cursor_link,
    "vscode": _vscode_link,
    "goose": _goose_link,
}
"""How a host's link names an address and what it is to be called there."""


def _query(**fields: str) -> str:
    return urlencode(fields, quote_via=quote, safe="")


def _compact(value: Mapping[str, str]) -> str:
    return json.dumps(value, separators=(",", ":"))

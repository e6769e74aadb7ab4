"""Hosts: how each agent host connects to the service.

The one table behind the pages, the reference, the map of links, the guide and the first start.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal
from urllib.parse import quote, urlencode

from mcp_server.operations.identity import DESCRIPTION, NAME, TITLE
from mcp_server.operations.services import Offer

KEY = "<API_KEY>"
"""What stands in the place of a key."""

Kind = Literal["command", "address", "link", "settings"]


@dataclass(frozen=True, slots=True)
class Way:
    """One way to connect a host."""

    key: str
    """Its name in the map of links."""
    host: str
    words: str
    """What a person does with the value."""
    kind: Kind
    """A command for a terminal, an address to type in, a link that opens the host, or settings."""
    value: str

    @property
    def text(self) -> str:
        """The value, and for an address also where it belongs."""
        return f"{self.words} {self.value}" if self.kind == "address" else self.value


def ways(offer: Offer) -> tuple[Way, ...]:
    """How each host connects to a service, the commonest first."""
    url, demo = offer.mcp_url, offer.demo_url
    more = Way(
        "extended",
        "With more tools",
        "The market scan, the universe, the changes of the night and more are at this address "
        "instead, with the same sign-in and keys.",
        "address",
        offer.extended_url,
    )
    return (
        Way(
            "claude",
            "Claude (web, desktop, phone)",
            "In Settings, Connectors, choose “Add custom connector”, enter this address, and sign "
            "in. In a Team or Enterprise plan an owner adds it first.",
            "address",
            url,
        ),
        Way(
            "claude_code_sign_in",
            "Claude Code",
            "Run it in a terminal; then /mcp in a session signs in.",
            "command",
            claude_mcp_add(url),
        ),
        Way(
            "claude_code",
            "Claude Code, with a key",
            "Run it with a key of yours.",
            "command",
            claude_mcp_add(url, key=KEY),
        ),
        Way(
            "chatgpt",
            "ChatGPT",
            "In Settings, Apps, Advanced settings, turn developer mode on. Then create an app with "
            "this address and OAuth.",
            "address",
            url,
        ),
        Way("cursor", "Cursor", "Open the link.", "link", _cursor(url)),
        Way("vscode", "VS Code", "Open the link.", "link", _vscode(url)),
        Way("goose", "Goose", "Open the link.", "link", _goose(url)),
        Way("json", "Any other host", "Put this into its settings.", "settings", _settings(url)),
        *((more,) if offer.extended else ()),
        Way(
            "claude_code_demo",
            "Without an account",
            "A host with the demo's address has the demo symbols and all track records.",
            "command",
            claude_mcp_add(demo, f"{NAME}-demo"),
        ),
    )


def install(offer: Offer) -> dict[str, str]:
    """How each host connects, by the name of the way, for the map of links."""
    return {way.key: way.text for way in ways(offer)}


def claude_mcp_add(url: str, name: str = NAME, *, key: str | None = None) -> str:
    """The command of Claude Code that adds an endpoint, to be used with a key if there is one."""
    header = f' --header "Authorization: Bearer {key}"' if key else ""
    return f"claude mcp add --transport http {name} {url}{header}"


def mcp_settings(url: str) -> dict[str, object]:
    """The settings that most hosts read (`mcpServers`)."""
    return {"mcpServers": {NAME: {"type": "http", "url": url}}}


def _settings(url: str) -> str:
    return json.dumps(mcp_settings(url))


def _cursor(url: str) -> str:
    """Cursor's install link (cursor.com/docs/mcp/install-links)."""
    config = base64.b64encode(_compact({"url": url}).encode()).decode()
    return f"cursor://anysphere.cursor-deeplink/mcp/install?{_query(name=NAME, config=config)}"


def _vscode(url: str) -> str:
    """The link of VS Code's handler (code.visualstudio.com, MCP developer guide)."""
    server = _compact({"name": NAME, "type": "http", "url": url})
    return f"vscode:mcp/install?{quote(server, safe='')}"


def _goose(url: str) -> str:
    """Goose's extension link (goose-docs.ai, using extensions)."""
    query = _query(url=url, type="streamable_http", id=NAME, name=TITLE, description=DESCRIPTION)
    return f"goose://extension?{query}"


def _query(**fields: str) -> str:
    return urlencode(fields, quote_via=quote, safe="")


def _compact(value: Mapping[str, str]) -> str:
    return json.dumps(value, separators=(",", ":"))

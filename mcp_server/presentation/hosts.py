"""Hosts: how each agent host connects to the service.

The one table behind the pages, the reference, the map of links, the guide and the first start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mcp_server.presentation.host_values import (
    DEMO,
    claude_mcp_add,
    codex_mcp_add,
    curl_demo,
    curl_keyed,
    cursor_link,
    cursor_settings,
    gemini_mcp_add,
    goose_link,
    inspector,
    mcp_settings_line,
    python_demo,
    python_keyed,
    remote_settings,
    vscode_link,
    vscode_settings,
)
from mcp_server.presentation.identity import NAME
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
    words: str
    """What a person does with the value."""
    kind: Kind
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
    return (*_assistants(offer), *_editors(offer), *_terminals(offer), *_code(offer), _other(offer))


def install(offer: Offer) -> dict[str, str]:
    """How each host connects, by the name of the way, for the map of links."""
    return {way.key: way.text for host in hosts(offer) for way in host.ways if way.fits_a_line}


def _assistants(offer: Offer) -> tuple[Host, ...]:
    url, demo = offer.mcp_url, offer.demo_url
    claude = _sign_in(
        "claude",
        "In Settings, Connectors, choose “Add custom connector”, enter this address, and sign "
        "in. In a Team or Enterprise plan an owner adds it first.",
        "address",
        url,
    )
    code = (
        _sign_in(
            "claude_code_sign_in",
            "Run it in a terminal; then /mcp in a session signs in.",
            "command",
            claude_mcp_add(url),
        ),
        _keyed(
            "claude_code",
            "Run it with a key of yours.",
            "command",
            claude_mcp_add(url, key=KEY),
        ),
        _keyless("claude_code_demo", "command", claude_mcp_add(demo, DEMO)),
    )
    chatgpt = (
        _sign_in(
            "chatgpt",
            "In Settings, Apps, Advanced settings, turn developer mode on. Then create an app with "
            "this address and OAuth.",
            "address",
            url,
        ),
        Way(
            "chatgpt_demo",
            "none",
            "As above, with this address and no authentication.",
            "address",
            demo,
        ),
    )
    return (
        Host("claude", "Claude (web, desktop, phone)", (claude,)),
        Host("claude-code", "Claude Code", code),
        Host("chatgpt", "ChatGPT", chatgpt),
    )


def _editors(offer: Offer) -> tuple[Host, ...]:
    url, demo = offer.mcp_url, offer.demo_url
    opened = "Open the link; the app asks before it adds anything, and signs in."
    cursor = (
        _sign_in("cursor", opened, "link", cursor_link(url)),
        _keyed(
            "cursor_key",
            "Put this into ~/.cursor/mcp.json and the key into the variable SCREENER_KEY.",
            "settings",
            cursor_settings(url),
        ),
        _keyless("cursor_demo", "link", cursor_link(demo, DEMO)),
    )
    vscode = (
        _sign_in("vscode", opened, "link", vscode_link(url)),
        _keyed(
            "vscode_key",
            "Put this into .vscode/mcp.json; VS Code asks for the key and stores it.",
            "settings",
            vscode_settings(url),
        ),
        _keyless("vscode_demo", "link", vscode_link(demo, DEMO)),
    )
    return Host("cursor", "Cursor", cursor), Host("vscode", "VS Code", vscode)


def _terminals(offer: Offer) -> tuple[Host, ...]:
    url, demo = offer.mcp_url, offer.demo_url
    codex = (
        _sign_in(
            "codex",
            f"Run it in a terminal; it signs in, and codex mcp login {NAME} does so again.",
            "command",
            codex_mcp_add(url),
        ),
        _keyed(
            "codex_key",
            "It writes url and bearer_token_env_var into ~/.codex/config.toml; Codex reads the key "
            "from the variable SCREENER_KEY.",
            "command",
            codex_mcp_add(url, variable="SCREENER_KEY"),
        ),
        _keyless("codex_demo", "command", codex_mcp_add(demo, DEMO)),
    )
    gemini = (
        _sign_in(
            "gemini_cli",
            f"Run it in a terminal; then /mcp auth {NAME} in a session signs in.",
            "command",
            gemini_mcp_add(url),
        ),
        _keyed(
            "gemini_cli_key",
            "Run it with a key of yours.",
            "command",
            gemini_mcp_add(url, key=KEY),
        ),
        _keyless("gemini_cli_demo", "command", gemini_mcp_add(demo, DEMO)),
    )
    goose = (
        _sign_in("goose", "Open the link.", "link", goose_link(url)),
        _keyless("goose_demo", "link", goose_link(demo, DEMO)),
    )
    return (
        Host("codex", "Codex", codex),
        Host("gemini-cli", "Gemini CLI", gemini),
        Host("goose", "Goose", goose),
    )


def _code(offer: Offer) -> tuple[Host, ...]:
    url, demo = offer.mcp_url, offer.demo_url
    symbol = (*offer.demo_symbols, "AAPL")[0]
    inspected = (
        _sign_in(
            "inspector",
            "It opens a page on your machine, where Connect signs in.",
            "command",
            inspector(url),
        ),
        _keyed(
            "inspector_key",
            "In a terminal only, with the key in the variable SCREENER_KEY.",
            "command",
            inspector(url, method="tools/list", variable="SCREENER_KEY"),
        ),
        _keyless("inspector_demo", "command", inspector(demo, method="tools/list")),
    )
    curl = (
        _keyed(
            "curl_key",
            "The first line waits for you to paste the key, which keeps it out of your shell "
            "history.",
            "command",
            curl_keyed(offer.base_url),
        ),
        _keyless("curl", "command", curl_demo(offer.base_url, symbol)),
    )
    python = (
        _keyed(
            "python_key",
            'Version 2 of the SDK (pip install "mcp>=2"), with the key in the variable '
            "SCREENER_KEY.",
            "program",
            python_keyed(url),
        ),
        _keyless("python", "program", python_demo(demo, symbol)),
    )
    return (
        Host("inspector", "Inspector", inspected),
        Host("curl", "curl", curl),
        Host("python", "Python", python),
    )


def _other(offer: Offer) -> Host:
    ways = [
        _sign_in(
            "json",
            "Put this into its settings.",
            "settings",
            mcp_settings_line(offer.mcp_url),
        ),
        _sign_in(
            "mcp_remote",
            "A host that only starts programs starts mcp-remote, which signs in.",
            "settings",
            remote_settings(offer.mcp_url),
        ),
    ]
    if offer.extended:
        ways.append(
            _sign_in(
                "extended",
                "The market scan, the universe, the changes of the night and more are at this "
                "address instead, with the same sign-in and keys.",
                "address",
                offer.extended_url,
            )
        )
    return Host("other", "Any other host", tuple(ways))


def _sign_in(key: str, words: str, kind: Kind, value: str) -> Way:
    return Way(key, "sign_in", words, kind, value)


def _keyed(key: str, words: str, kind: Kind, value: str) -> Way:
    return Way(key, "key", words, kind, value)


def _keyless(key: str, kind: Kind, value: str) -> Way:
    return Way(key, "none", "The demo symbols and all track records.", kind, value)

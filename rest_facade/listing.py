"""Listing: what registries, hosts and marketplaces read of the service before they connect.

`server.json` is of the MCP registry (schema 2025-12-11). The server card is SEP-2127 (Final,
Extensions Track); its schema and its discovery document are still drafts of
modelcontextprotocol/experimental-ext-server-card. The catalog is a draft too (ai-catalog.io).
"""

from __future__ import annotations

from collections.abc import Mapping

import orjson
from starlette.requests import Request
from starlette.routing import Route

from mcp_server.http.responses import PUBLIC_HOUR, HttpResponse, answer_response
from mcp_server.operations.answers import JSON, PNG, Answer
from mcp_server.presentation.host_values import mcp_settings
from mcp_server.presentation.hosts import hosts
from mcp_server.presentation.identity import (
    DESCRIPTION,
    ICON_PATHS,
    KEYWORDS,
    NAME,
    PROTOCOL_VERSIONS,
    SUMMARY,
    TITLE,
    host_of,
    icon,
    icons,
    operator_of,
    registry_name,
    remotes,
)
from mcp_server.presentation.offer import Offer
from telemetry.version import VERSION

Document = dict[str, object]

SERVER_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
CARD_SCHEMA = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
PLUGIN_SCHEMA = "https://json.schemastore.org/claude-code-plugin-manifest.json"
MARKETPLACE_SCHEMA = "https://json.schemastore.org/claude-code-marketplace.json"

CARD = "application/mcp-server-card+json"
CATALOG = "application/ai-catalog+json"

SVG = "image/svg+xml"

DIRECTORY_ICON = "icon-512.png"
"""The icon in the size that the plugin directory wants."""

SERVER_JSON_PATH = "/server.json"
CARD_PATH = "/mcp/server-card"
"""The address of the card that the extension reserves: that of the endpoint and this suffix."""
WELL_KNOWN_CARD_PATH = "/.well-known/mcp/server-card.json"
"""Where SEP-1649 had the card; crawlers still look there."""
CATALOG_PATH = "/.well-known/ai-catalog.json"


def server_json(offer: Offer) -> Document:
    """The entry for the MCP registry: remotes alone, since nothing is installed."""
    return {
        "$schema": SERVER_SCHEMA,
        **_identity(offer),
        "remotes": [{"type": "streamable-http", "url": url} for url in remotes(offer)],
    }


def server_card(offer: Offer) -> Document:
    """The card that a host reads before it connects."""
    return {
        "$schema": CARD_SCHEMA,
        **_identity(offer),
        "remotes": [
            {
                "type": "streamable-http",
                "url": url,
                "supportedProtocolVersions": list(PROTOCOL_VERSIONS),
            }
            for url in remotes(offer)
        ],
    }


def catalog(offer: Offer) -> Document:
    """What this host offers to agents: the card and the skill."""
    domain = host_of(offer)
    return {
        "specVersion": "1.0",
        "host": {"displayName": operator_of(offer), "documentationUrl": offer.docs_url},
        "entries": [
            {
                "identifier": f"urn:air:{domain}:mcp:{NAME}",
                "displayName": TITLE,
                "type": CARD,
                "url": offer.public_url + CARD_PATH,
                "description": DESCRIPTION,
            },
            {
                "identifier": f"urn:air:{domain}:skill:{NAME}",
                "displayName": TITLE,
                "type": "application/agent-skills+md",
                "url": f"{offer.base_url}/skill.md",
                "description": SUMMARY,
            },
        ],
    }


def listing_files(offer: Offer, skill: str) -> dict[str, bytes]:
    """The files of a listing by path: `server.json`, and a Claude marketplace with the plugin."""
    return {
        "server.json": _pretty(server_json(offer)),
        ".claude-plugin/marketplace.json": _pretty(_marketplace(offer)),
        f"{NAME}/.claude-plugin/plugin.json": _pretty(_plugin(offer)),
        f"{NAME}/.claude-plugin/icon.png": icon(DIRECTORY_ICON),
        f"{NAME}/.mcp.json": _pretty(mcp_settings(offer.mcp_url)),
        f"{NAME}/skills/{NAME}/SKILL.md": skill.encode(),
        f"{NAME}/README.md": _readme(offer).encode(),
    }


def listing_routes(offer: Offer) -> list[Route]:
    """The routes of the documents that are served."""
    card = Answer(orjson.dumps(server_card(offer)), CARD)
    answers = {
        SERVER_JSON_PATH: Answer(orjson.dumps(server_json(offer)), JSON),
        CARD_PATH: card,
        WELL_KNOWN_CARD_PATH: card,
        CATALOG_PATH: Answer(orjson.dumps(catalog(offer)), CATALOG),
        **{path: _icon(path.removeprefix("/")) for path in ICON_PATHS.values()},
    }
    return [_route(path, answer) for path, answer in answers.items()]


def _identity(offer: Offer) -> Document:
    return {
        "name": registry_name(offer),
        "title": TITLE,
        "description": DESCRIPTION,
        "version": VERSION,
        "websiteUrl": offer.docs_url,
        "icons": icons(offer),
    }


def _icon(name: str) -> Answer:
    return Answer(icon(name), SVG if name.endswith(".svg") else PNG)


def _plugin(offer: Offer) -> Document:
    return {
        "$schema": PLUGIN_SCHEMA,
        "name": NAME,
        "version": VERSION,
        "description": SUMMARY,
        "author": {"name": operator_of(offer), "url": offer.public_url},
        "homepage": offer.docs_url,
        "license": "MIT",
        "keywords": list(KEYWORDS),
    }


def _marketplace(offer: Offer) -> Document:
    return {
        "$schema": MARKETPLACE_SCHEMA,
        "name": NAME,
        "description": DESCRIPTION,
        "owner": {"name": operator_of(offer), "url": offer.public_url},
        "plugins": [{"name": NAME, "source": f"./{NAME}", "description": SUMMARY}],
    }


def _readme(offer: Offer) -> str:
    rows = "\n".join(
        f"- **{host.title(way)}.** {way.words}\n  `{way.value}`"
        for host in hosts(offer)
        for way in host.ways
        if way.fits_a_line
    )
    return (
        f"# {TITLE}\n\n{SUMMARY}\n\n"
        f"This plugin connects Claude to {offer.mcp_url} and has a skill that says how to read its "
        "answers. Claude asks you to sign in when it first calls a tool.\n\n"
        "With the repository that holds this marketplace:\n\n"
        f"    /plugin marketplace add <owner>/<repo>\n    /plugin install {NAME}@{NAME}\n\n"
        f"- Documentation: {offer.docs_url}\n"
        f"- Privacy: {offer.privacy_url}\n"
        f"- Terms: {offer.terms_url}\n\n## Other ways to connect\n\n{rows}\n"
    )


def _pretty(document: Mapping[str, object]) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _route(path: str, answer: Answer) -> Route:
    async def respond(request: Request) -> HttpResponse:
        return answer_response(answer, request.scope["fields"], PUBLIC_HOUR)

    return Route(path, respond)

"""Listing: what registries and hosts read of the service before they connect.

`server.json` is of the MCP registry (schema 2025-12-11). The server card is SEP-2127 (Final,
Extensions Track); its schema is still a draft of
modelcontextprotocol/experimental-ext-server-card.
"""

from __future__ import annotations

import orjson
from starlette.requests import Request
from starlette.routing import Route

from mcp_server.http.responses import PUBLIC_HOUR, HttpResponse, answer_response
from mcp_server.operations.answers import JSON, PNG, Answer
from mcp_server.presentation.identity import (
    DESCRIPTION,
    ICON_PATHS,
    PROTOCOL_VERSIONS,
    TITLE,
    icon,
    icons,
    registry_name,
    remotes,
)
from mcp_server.presentation.offer import Offer
from screener.telemetry.version import VERSION

Document = dict[str, object]

SERVER_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
CARD_SCHEMA = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"

CARD = "application/mcp-server-card+json"
SVG = "image/svg+xml"

SERVER_JSON_PATH = "/server.json"
CARD_PATH = "/mcp/server-card"
"""The address of the card that the extension reserves: that of the endpoint and this suffix."""


def server_json(offer: Offer) -> Document:
    """The entry for the MCP registry: remotes alone, since nothing is installed."""
    return _document(offer, SERVER_SCHEMA, {})


def server_card(offer: Offer) -> Document:
    """The card that a host reads before it connects."""
    return _document(offer, CARD_SCHEMA, {"supportedProtocolVersions": list(PROTOCOL_VERSIONS)})


def listing_routes(offer: Offer) -> list[Route]:
    """The routes of these documents, and those of the icon."""
    answers = {
        SERVER_JSON_PATH: Answer(orjson.dumps(server_json(offer)), JSON),
        CARD_PATH: Answer(orjson.dumps(server_card(offer)), CARD),
    }
    for path in ICON_PATHS.values():
        answers[path] = Answer(icon(path[1:]), SVG if path.endswith(".svg") else PNG)
    return [_route(path, answer) for path, answer in answers.items()]


def _document(offer: Offer, schema: str, of_remote: Document) -> Document:
    return {
        "$schema": schema,
        "name": registry_name(offer),
        "title": TITLE,
        "description": DESCRIPTION,
        "version": VERSION,
        "websiteUrl": offer.docs_url,
        "icons": icons(offer),
        "remotes": [{"type": "streamable-http", "url": url, **of_remote} for url in remotes(offer)],
    }


def _route(path: str, answer: Answer) -> Route:
    async def respond(request: Request) -> HttpResponse:
        return answer_response(answer, request.scope["fields"], PUBLIC_HOUR)

    return Route(path, respond)

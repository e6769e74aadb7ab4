"""The documents: the map of links, the agent reference, the skill file and the OpenAPI document.

Each is rendered when it is first asked for, and again when the night changes its example; the map
changes with the night and its age.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import orjson

from mcp_server.calls.errors import CATALOGUE
from mcp_server.filters.filters import MAX_PREDICATES
from mcp_server.filters.kinds import KINDS
from mcp_server.http.requests import MAX_FIELD_BYTES, MAX_FIELDS, MAX_QUERY
from mcp_server.limits.limits import SITE, Quotas
from mcp_server.mcp.toolsets import EXTENDED, SEVEN, Tool
from mcp_server.operations.answers import Answer
from mcp_server.operations.table import OPERATIONS
from mcp_server.presentation.hosts import ACCESS_WORDS, hosts, install
from mcp_server.presentation.identity import NAME, SUMMARY, TITLE
from mcp_server.presentation.markdown import render_markdown
from mcp_server.presentation.offer import Offer
from mcp_server.presentation.rules import CONTENT_RULES
from rest_facade.listing import CARD_PATH, SERVER_JSON_PATH
from rest_facade.openapi import openapi
from rest_facade.routes import ROUTES
from store.wire.families import Family
from store.wire.labels import CHANGE_KINDS, CHANGE_REASONS
from store.wire.words import QUALITY

MARKDOWN = "text/markdown; charset=utf-8"


def documents(quotas: Quotas) -> dict[str, Callable[[Offer], Answer]]:
    """How the documents that need no envelope are made of an offer, by path below the REST base."""

    def skill(offer: Offer) -> Answer:
        front = f"---\nname: {NAME}\ndescription: {SUMMARY}\n---\n\n"
        return Answer((front + reference(offer, quotas)).encode(), MARKDOWN)

    once = lru_cache(maxsize=1)
    return {
        "/llms.txt": once(lambda offer: Answer(reference(offer, quotas).encode(), MARKDOWN)),
        "/skill.md": once(skill),
        "/openapi.json": once(lambda offer: Answer(orjson.dumps(openapi(offer)))),
    }


@lru_cache(maxsize=1)
def reference(offer: Offer, quotas: Quotas) -> str:
    """The agent reference: one Markdown text, its tables made of the code that they describe."""
    return render_markdown(
        __package__,
        "reference.md.j2",
        title=TITLE,
        summary=SUMMARY,
        offer=offer,
        families=list(Family),
        rules=CONTENT_RULES,
        hosts=hosts(offer),
        access_words=ACCESS_WORDS,
        install=install(offer),
        routes=ROUTES,
        operations=OPERATIONS,
        yes_or_no={"keyed": "yes", "keyless": "no"},
        arguments_of=_arguments_of,
        seven=SEVEN.values(),
        more_tools=[tool for name, tool in EXTENDED.tools.items() if tool is not SEVEN.get(name)],
        change_kinds=CHANGE_KINDS,
        change_reasons=CHANGE_REASONS,
        quality=QUALITY,
        max_predicates=MAX_PREDICATES,
        kinds=KINDS.values(),
        errors=CATALOGUE.values(),
        max_query=MAX_QUERY,
        max_field_bytes=MAX_FIELD_BYTES,
        max_fields=MAX_FIELDS,
        quotas=quotas,
        site_multiple=SITE,
    )


def _arguments_of(tool: Tool) -> list[str]:
    schema = tool.input_schema
    required = schema.get("required", ())
    return [name if name in required else f"{name}?" for name in schema["properties"]]


@lru_cache(maxsize=1)
def link_map(offer: Offer, quotas: Quotas) -> bytes:
    """The fields of `/` that do not tell of the night."""
    base = offer.base_url
    return orjson.dumps(
        {
            "docs_url": offer.docs_url,
            "reference_url": f"{base}/llms.txt",
            "skill_url": f"{base}/skill.md",
            "openapi_url": f"{base}/openapi.json",
            "privacy_url": offer.privacy_url,
            "terms_url": offer.terms_url,
            "mcp": {
                "url": offer.mcp_url,
                "demo_url": offer.demo_url,
                "install": install(offer),
                "server_card_url": offer.public_url + CARD_PATH,
                "server_json_url": offer.public_url + SERVER_JSON_PATH,
            },
            "demo_symbols": offer.demo_symbols,
            "authentication": {"header": "Authorization: Bearer <API_KEY>", "scope": "patterns"},
            "rate_limits": {
                "key": {
                    "requests_per_minute": quotas.key_per_minute,
                    "requests_per_day": quotas.key_per_day,
                },
                "keyless": {"requests_per_minute": quotas.keyless_per_minute},
            },
        }
    )

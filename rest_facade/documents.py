"""The documents: the map of links, the reference, the skill file and the OpenAPI document.

Each is rendered once, when the service starts; only the map changes with the night and its age.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from mcp_server.operations.age import Age
from mcp_server.operations.answers import Answer
from mcp_server.operations.hosts import install
from mcp_server.operations.limits import Quotas
from mcp_server.operations.offer import Offer
from rest_facade.listing import CARD_PATH, SERVER_JSON_PATH
from rest_facade.openapi import openapi
from rest_facade.reference import reference, skill
from store.ledger.ledger import Withdrawn

MARKDOWN = "text/markdown; charset=utf-8"


def documents(offer: Offer, quotas: Quotas) -> dict[str, Answer]:
    """The documents that need no envelope, by path below the REST base."""
    text = reference(offer, quotas)
    return {
        "/llms.txt": Answer(text.encode(), MARKDOWN),
        "/skill.md": Answer(skill(text).encode(), MARKDOWN),
        "/openapi.json": Answer(orjson.dumps(openapi(offer))),
    }


def night_fields(age: Age, withdrawn: Sequence[Withdrawn]) -> bytes:
    """The fields of `/` about the night, which change with it and with the day."""
    return orjson.dumps({"night": age.fields, "withdrawn": withdrawn})


def link_map(offer: Offer, quotas: Quotas) -> bytes:
    """The other fields of `/`."""
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

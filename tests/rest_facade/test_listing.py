"""The listing: each document fits its owner's schema, and each address in it exists."""

from __future__ import annotations

import base64
import html
import io
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import httpx
import jsonschema
import mcp_types
import pytest
from PIL import Image

from mcp_server.mcp.toolsets import toolsets
from mcp_server.presentation.hosts import hosts, install
from mcp_server.presentation.identity import NAME, PROTOCOL_VERSIONS, icons, remotes
from mcp_server.presentation.offer import Offer
from rest_facade.listing import server_card, server_json
from tests.agent import INITIALIZE, message
from tests.screener.web.browser import Browser
from tests.service import Service

SCHEMAS = Path(__file__).parents[1] / "schemas"
OFFER = Offer("https://screener.example.com", ("AAPL",))
OFFERS = [
    OFFER,
    Offer("https://example.com:8443", ()),
    Offer("http://127.0.0.1:8000", ("AAPL",)),
    Offer("http://[::1]:8000", ("AAPL",)),
    replace(OFFER, registry_name="com.example/charts", operator="Example Ltd", extended=False),
]
SERVED = {
    "/server.json": "application/json",
    "/mcp/server-card": "application/mcp-server-card+json",
}


def schema(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((SCHEMAS / name).read_text(encoding="utf-8"))
    return found


def strings(node: Any) -> Iterator[str]:
    """Every string in a JSON value, at any depth."""
    if isinstance(node, dict):
        for value in node.values():
            yield from strings(value)
    elif isinstance(node, list):
        for value in node:
            yield from strings(value)
    elif isinstance(node, str):
        yield node


@pytest.mark.parametrize("offer", OFFERS)
def test_each_document_fits_the_schema_of_its_owner_and_has_no_other_field(offer: Offer) -> None:
    registry, card = schema("server-2025-12-11.schema.json"), schema("server-card-v1.schema.json")
    of_registry, of_card = registry["definitions"]["ServerDetail"], card["$defs"]["ServerCard"]
    rows = [
        (server_json(offer), registry, of_registry),
        (server_card(offer), {**card, "$ref": "#/$defs/ServerCard"}, of_card),
    ]

    for document, whole, part in rows:
        jsonschema.validate(document, whole)
        assert set(document) <= {"$schema", *part["properties"]}


@pytest.mark.parametrize("offer", OFFERS)
def test_server_json_names_every_endpoint_and_no_package(offer: Offer) -> None:
    document: Any = server_json(offer)

    assert document["$schema"] == schema("server-2025-12-11.schema.json")["$id"]
    assert document["remotes"] == [
        {"type": "streamable-http", "url": url} for url in remotes(offer)
    ]
    assert "packages" not in document
    endpoints = {offer.mcp_url + toolset.path for toolset in toolsets(offer)}
    assert {remote["url"] for remote in document["remotes"]} == endpoints
    assert server_card(offer)["name"] == document["name"]


def test_the_name_is_the_public_host_backwards_unless_the_operator_names_it() -> None:
    names = [server_json(offer)["name"] for offer in OFFERS]

    assert names == [
        "com.example.screener/pattern-screener",
        "com.example/pattern-screener",
        "localhost/pattern-screener",
        "localhost/pattern-screener",
        "com.example/charts",
    ]


@pytest.mark.parametrize(("path", "media_type"), SERVED.items())
def test_a_document_is_served_to_every_site_for_an_hour(
    service: Service, path: str, media_type: str
) -> None:
    answer = httpx.get(service.url + path, headers={"Origin": "https://other.example"})
    again = httpx.get(service.url + path, headers={"If-None-Match": answer.headers["etag"]})

    assert answer.status_code == 200
    assert answer.headers["content-type"] == media_type
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in answer.headers
    assert answer.headers["cache-control"] == "public, max-age=3600"
    assert again.status_code == 304


def test_every_address_that_is_named_exists(service: Service) -> None:
    offer = service.settings.offer
    offer = replace(offer, public_url=service.url)
    documents = [httpx.get(service.url + path).json() for path in SERVED]
    documents.append(service.get("/", key="").json())
    documents += [
        httpx.get(f"{service.url}/.well-known/{name}").json()
        for name in ("oauth-protected-resource/mcp", "oauth-authorization-server")
    ]
    named = {text for document in documents for text in strings(document)}
    address = re.compile(re.escape(service.url) + r"[^\s\"'`<>]*")
    addresses = {found.rstrip(".,") for text in named for found in address.findall(text)}

    assert {*remotes(offer), offer.docs_url, offer.privacy_url, offer.terms_url} <= addresses
    assert len(addresses) > 15
    missing = [a for a in sorted(addresses) if httpx.get(a).status_code == 404]
    assert missing == []


def test_every_icon_has_the_type_and_the_size_that_are_named(service: Service) -> None:
    named: Any = icons(replace(OFFER, public_url=service.url))

    assert [icon["sizes"] for icon in named] == [["48x48"], ["96x96"], ["192x192"], ["any"]]
    for icon in named:
        answer = httpx.get(icon["src"])
        assert answer.headers["content-type"] == icon["mimeType"]
        if icon["mimeType"] == "image/png":
            width, height = Image.open(io.BytesIO(answer.content)).size
            assert icon["sizes"] == [f"{width}x{height}"]
        else:
            assert answer.text.startswith("<svg ")


def test_the_card_names_the_revisions_that_the_endpoints_speak(service: Service) -> None:
    assert PROTOCOL_VERSIONS == mcp_types.version.KNOWN_PROTOCOL_VERSIONS
    for revision in mcp_types.version.HANDSHAKE_PROTOCOL_VERSIONS:
        first = message("initialize", **{**INITIALIZE, "protocolVersion": revision})
        answer = httpx.post(f"{service.mcp_url}/demo", json=first)
        assert answer.json()["result"]["protocolVersion"] == revision


def test_each_link_holds_the_address_as_its_host_reads_it() -> None:
    links = install(OFFER)
    cursor, goose = urlsplit(links["cursor"]), urlsplit(links["goose"])
    asked = {name: values[0] for name, values in parse_qs(cursor.query).items()}
    server = json.loads(unquote(links["vscode"].removeprefix("vscode:mcp/install?")))

    assert (cursor.scheme, cursor.netloc, cursor.path) == (
        "cursor",
        "anysphere.cursor-deeplink",
        "/mcp/install",
    )
    assert asked["name"] == NAME
    assert json.loads(base64.b64decode(asked["config"])) == {"url": OFFER.mcp_url}
    assert server == {"name": NAME, "type": "http", "url": OFFER.mcp_url}
    assert (goose.scheme, goose.netloc) == ("goose", "extension")
    assert parse_qs(goose.query)["url"] == [OFFER.mcp_url]
    assert parse_qs(goose.query)["type"] == ["streamable_http"]


def test_every_way_to_connect_is_told_to_people_and_to_programs(service: Service) -> None:
    offer = service.settings.offer
    browser = Browser(service)
    home, page = (html.unescape(browser.get(path).text) for path in ("/", "/connect"))
    told = service.get("/", key="").json()["mcp"]["install"]
    text = service.get("/llms.txt", key="").text

    assert told == install(offer)
    for host in hosts(offer):
        assert f'href="/connect#{host.key}">{host.name}' in home
        assert f'<section id="{host.key}"' in page
        for way in host.ways:
            assert way.words in page
            assert f'href="{way.value}"' in page or f">{way.value}</code>" in page
            assert way.value in text or not way.fits_a_line or way.access == "none"
            assert (told.get(way.key) == way.text) is way.fits_a_line


def test_the_names_of_ways_in_the_map_of_links_never_go() -> None:
    names = ["claude", "claude_code_sign_in", "claude_code", "chatgpt", "cursor", "vscode"]
    assert {*names, "goose", "json", "extended", "claude_code_demo"} <= install(OFFER).keys()

"""The documents, the shapes that they leave open, and the version of the interface."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from mcp_server.calls.errors import CATALOGUE
from mcp_server.filters.kinds import KINDS
from rest_facade.routes import ROUTES
from tests.agent import connected
from tests.contract.codes import CODES
from tests.service import Service

HOUR = "public, max-age=3600"


@pytest.fixture(scope="module")
def document(service: Service) -> Any:
    """The OpenAPI document that the service serves."""
    return service.get("/openapi.json", key="").raise_for_status().json()


@pytest.mark.proves("DOC-index", "DOC-keyless", "BASE-json")
async def test_the_index_links_to_everything_and_the_links_lead_there(service: Service) -> None:
    index = service.get("/", key="").raise_for_status().json()

    for name in ("docs_url", "reference_url", "skill_url", "openapi_url", "privacy_url"):
        assert httpx.get(index[name]).status_code == 200
    assert index["mcp"]["url"] == service.mcp_url
    for name in ("claude_code", "claude_code_demo", "json"):
        assert service.mcp_url in index["mcp"]["install"][name]
    async with connected(index["mcp"]["demo_url"]) as client:
        assert len((await client.list_tools()).tools) == 7
    assert index["demo_symbols"] == list(service.settings.demo_symbols)
    assert index["authentication"]["header"] == "Authorization: Bearer <API_KEY>"
    assert index["rate_limits"] == {
        "key": {"requests_per_minute": 10_000, "requests_per_day": 10_000},
        "keyless": {"requests_per_minute": 10_000},
    }


@pytest.mark.proves("DOC-llms", "DOC-llms-root", "LIM-caches", "BASE-json")
def test_the_reference_is_markdown_on_both_addresses_for_an_hour(service: Service) -> None:
    answers = [service.get("/llms.txt", key=""), httpx.get(f"{service.url}/llms.txt")]

    for answer in answers:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/markdown")
        assert answer.headers["cache-control"] == HOUR
    assert answers[0].content == answers[1].content


@pytest.mark.proves("DOC-llms")
def test_the_reference_names_every_route_code_and_kind(service: Service) -> None:
    text = service.get("/llms.txt", key="").text

    for words in (*(route.path for route in ROUTES), *CATALOGUE, *KINDS):
        assert words in text


@pytest.mark.proves("RULE-5")
async def test_the_five_content_rules_are_told_wherever_a_client_reads(service: Service) -> None:
    async with connected(service.mcp_url, service.key) as client:
        instructions = client.instructions or ""
    texts = [instructions, service.get("/skill.md").text]
    texts += [service.get("/openapi.json").json()["info"]["description"]]

    for text in texts:
        for words in (
            "win rate without its sample size and the average loss",
            "`summary`",
            "`as_of_session`",
            "log-scale price axis, not from a slope",
            "Repeat the disclaimer",
        ):
            assert words in text


@pytest.mark.proves("DOC-skill", "LIM-caches", "BASE-json")
def test_the_skill_file_is_the_reference_under_a_name_and_a_description(service: Service) -> None:
    answer = service.get("/skill.md", key="")

    _, head, body = answer.text.split("---\n", 2)
    assert answer.headers["content-type"].startswith("text/markdown")
    assert answer.headers["cache-control"] == HOUR
    assert [line.split(":")[0] for line in head.splitlines()] == ["name", "description"]
    assert body.lstrip("\n") == service.get("/llms.txt", key="").text


@pytest.mark.proves("DOC-openapi", "LIM-caches", "VER-1")
def test_the_machine_description_is_openapi_3_1_version_v1_for_an_hour(service: Service) -> None:
    answer = service.get("/openapi.json", key="")

    document = answer.json()
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["cache-control"] == HOUR
    assert document["openapi"].startswith("3.1.")
    assert document["info"]["version"] == "v1"
    assert document["servers"] == [{"url": service.base}]
    assert service.base.endswith("/api/v1")


@pytest.mark.proves("DOC-openapi")
def test_the_machine_description_has_every_route_and_the_four_documents(document: Any) -> None:
    described = {
        (method.upper(), path) for path, methods in document["paths"].items() for method in methods
    }

    documents = {("GET", path) for path in ("/", "/llms.txt", "/skill.md", "/openapi.json")}
    assert described == {(route.method, route.path) for route in ROUTES} | documents


@pytest.mark.proves("AUTH-2-documented", "AUTH-3", "BASE-client")
def test_keyed_routes_take_a_key_or_the_single_scope_and_keyless_ones_neither(
    document: Any,
) -> None:
    keyed = [{"api_key": []}, {"oauth2": ["patterns"]}]
    open_to_all = ("/families", "/universe", "/demo", "/llms.txt", "/skill.md", "/openapi.json")
    for path, methods in document["paths"].items():
        for operation in methods.values():
            keyless = path == "/" or path.startswith(open_to_all)
            assert operation["security"] == ([{}, *keyed] if keyless else keyed)
            refusals = {"401", "429"} if keyless else {"401", "403", "429"}
            assert {"200", *refusals} <= set(operation["responses"])
            headers = {p["name"] for p in operation.get("parameters", ()) if p["in"] == "header"}
            assert ("X-Service-Client" in headers) is not keyless
    flows = document["components"]["securitySchemes"]["oauth2"]["flows"]
    assert [list(flow["scopes"]) for flow in flows.values()] == [["patterns"]]


@pytest.mark.proves("ERR-branch", "DOC-openapi")
def test_the_machine_description_has_every_code_of_the_interface_at_its_status(
    document: Any,
) -> None:
    described = document["components"]["responses"]
    named = document["components"]["schemas"]["Error"]["properties"]["error"]["enum"]
    for code, (status, *_) in CODES.items():
        assert code in named
        assert f"`{code}`" in described[str(status)]["description"]


@pytest.mark.proves("KEYS-open", "ENV-open", "RECORD-open", "TRACKED-open", "STATE-transitions")
@pytest.mark.proves("DOC-index-open", "TICK-get-open", "FAM-universe-open", "DEMO-list-open")
@pytest.mark.proves("EVENT-none", "VER-4")
def test_what_the_interface_leaves_open_is_not_described(document: Any) -> None:
    schemas = document["components"]["schemas"]
    envelope = schemas["Envelope"]["properties"]
    assert set(envelope["data_version"]) == set(envelope["source"]) == {"description"}
    assert set(schemas["TrackRecord"]["properties"]["scope"]) == {"type", "description"}
    for path in ("/", "/tickers", "/universe", "/demo"):
        answer = document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]
        assert answer == {"schema": {"allOf": [{"$ref": "#/components/schemas/Envelope"}]}}
    assert not any("key" in path or "index" in path for path in document["paths"])
    told = json.dumps(document).lower()
    for word in ('"additionalproperties": false', '"cookie"', "webhook", "callback", '"links":'):
        assert word not in told
    assert "deprecat" not in told
    assert "transition" not in told


@pytest.mark.proves("EVENT-none")
async def test_no_list_is_said_to_change_and_no_resource_to_be_followed(service: Service) -> None:
    async with connected(service.mcp_url, service.key) as client:
        capabilities = client.server_capabilities
    assert capabilities is not None
    for part in (capabilities.tools, capabilities.resources, capabilities.prompts):
        assert part is None or not part.list_changed
    assert capabilities.resources is None or not capabilities.resources.subscribe


@pytest.mark.proves("BASE-slash")
@pytest.mark.parametrize(
    "path",
    [
        *("", "/me", "/scan", "/tickers", "/tickers/AAPL/patterns", "/families", "/llms.txt"),
        "/families/triangle/stats",
    ],
)
def test_a_trailing_slash_changes_nothing(service: Service, path: str) -> None:
    bare, slashed = service.get(path), service.get(f"{path}/")

    assert bare.status_code == slashed.status_code == 200
    assert bare.content == slashed.content

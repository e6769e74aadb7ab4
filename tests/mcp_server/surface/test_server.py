"""The MCP endpoints as hosts use them."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from mcp.shared.inbound import x_mcp_header_map

from mcp_server.operations.rules import CONTENT_RULES
from mcp_server.operations.services import Offer
from mcp_server.operations.table import OPERATIONS
from mcp_server.surface.server import tools
from mcp_server.surface.toolsets import EXTENDED
from tests.agent import ERAS, call, connected, texts
from tests.service import Service

LISTED = tools(EXTENDED, Offer("https://screener.example.com", ("AAPL", "GOOG")))
CHANGING = {"set_tracked_tickers", "add_tickers", "remove_tickers"}

SEVEN = [
    "get_ticker_patterns",
    "get_pattern_history",
    "get_pattern_chart",
    "list_tracked_tickers",
    "set_tracked_tickers",
    "get_family_track_record",
    "demo",
]


def post(url: str, key: str, method: str, **params: Any) -> httpx.Response:
    headers = {"Accept": "application/json, text/event-stream"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return httpx.post(url, json=body, headers=headers, timeout=30)


def test_no_tool_names_a_parameter_header() -> None:
    """Therefore the endpoint need not compare header fields with a call's arguments."""
    assert [tool.name for tool in LISTED if x_mcp_header_map(tool.input_schema)] == []


@pytest.mark.proves("RULE-6", "MCP-seven")
@pytest.mark.parametrize("era", ERAS)
async def test_exactly_seven_tools_are_listed(service: Service, era: str) -> None:
    async with connected(service.mcp_url, service.key, era) as client:
        listed = await client.list_tools()

    assert [tool.name for tool in listed.tools] == SEVEN


@pytest.mark.proves("MCP-lists")
@pytest.mark.parametrize("era", ERAS)
async def test_prompts_and_resources_are_empty_lists(service: Service, era: str) -> None:
    async with connected(service.mcp_url, service.key, era) as client:
        assert (await client.list_prompts()).prompts == []
        assert (await client.list_resources()).resources == []


@pytest.mark.proves("MCP-methods")
async def test_ping_is_answered(service: Service) -> None:
    assert post(service.mcp_url, service.key, "ping").json()["result"] == {}


@pytest.mark.proves("RULE-5")
async def test_the_instructions_carry_the_content_rules(service: Service) -> None:
    async with connected(service.mcp_url, service.key) as client:
        assert all(rule in (client.instructions or "") for rule in CONTENT_RULES)


def test_every_tool_says_what_it_is_and_what_it_may_change() -> None:
    for tool in LISTED:
        assert tool.title
        assert 40 <= len(tool.description or "") <= 400
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is (tool.name not in CHANGING)
        assert tool.annotations.destructive_hint is (tool.name in CHANGING - {"add_tickers"})
        for field in tool.input_schema["properties"].values():
            assert field["description"]


@pytest.mark.proves("MCP-address")
def test_no_session_id_is_handed_out(service: Service) -> None:
    info = {"name": "probe", "version": "1"}
    answer = post(
        service.mcp_url,
        service.key,
        "initialize",
        protocolVersion="2025-06-18",
        capabilities={},
        clientInfo=info,
    )

    assert answer.status_code == 200
    assert "mcp-session-id" not in answer.headers


@pytest.mark.proves("MCP-405")
@pytest.mark.parametrize("path", ["/mcp", "/mcp/demo"])
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_anything_but_post_is_405_and_says_how_to_connect(
    service: Service, path: str, method: str
) -> None:
    answer = httpx.request(method, service.url + path)

    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"
    assert answer.json()["error"] == "method_not_allowed"
    assert ("www-authenticate" in answer.headers) is (path == "/mcp")


@pytest.mark.parametrize("path", ["/mcp", "/mcp/demo"])
def test_a_person_who_opens_the_address_reads_what_it_is_for(service: Service, path: str) -> None:
    accept = "text/html,application/xhtml+xml,*/*;q=0.8"
    answer = httpx.get(service.url + path, headers={"Accept": accept})

    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"
    assert answer.headers["content-type"].startswith("text/html")
    assert f'href="{service.url}/docs"' in answer.text


@pytest.mark.proves("OAUTH-discover")
def test_no_credentials_get_the_challenge_without_an_error(service: Service) -> None:
    answer = post(service.mcp_url, "", "tools/list")

    metadata = f"{service.url}/.well-known/oauth-protected-resource/mcp"
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == f'Bearer resource_metadata="{metadata}"'
    assert answer.json()["error"] == "missing_api_key"


@pytest.mark.proves("OAUTH-resource")
def test_the_challenge_leads_to_metadata_that_names_this_endpoint(service: Service) -> None:
    answer = httpx.get(f"{service.url}/.well-known/oauth-protected-resource/mcp")

    document = answer.json()
    assert document["resource"] == service.mcp_url
    assert document["authorization_servers"] == [service.url]
    assert document["scopes_supported"] == ["patterns"]


def test_forged_host_headers_do_not_reach_the_metadata(service: Service) -> None:
    forged = {"Host": "evil.example", "X-Forwarded-Host": "evil.example"}
    answer = httpx.get(f"{service.url}/.well-known/oauth-protected-resource/mcp", headers=forged)

    assert "evil" not in answer.text


@pytest.mark.parametrize("token", ["garbage", "a.b.c", "x" * 600])
def test_a_bad_token_is_401_invalid_token_with_the_way_to_sign_in(
    service: Service, token: str
) -> None:
    answer = post(service.mcp_url, token, "tools/list")

    assert answer.status_code == 401
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]
    assert "resource_metadata=" in answer.headers["www-authenticate"]


@pytest.mark.proves("OAUTH-key")
async def test_a_bad_key_lists_tools_and_fails_as_a_tool_error_without_a_sign_in(
    service: Service,
) -> None:
    key = service.key[:-1] + ("a" if service.key[-1] != "a" else "b")

    async with connected(service.mcp_url, key) as client:
        listed = await client.list_tools()
        result = await call(client, "list_tracked_tickers")

    assert len(listed.tools) == 7
    assert result.is_error
    assert texts(result)[0].startswith("invalid_api_key: ")
    assert "www-authenticate" not in post(service.mcp_url, key, "tools/list").headers


@pytest.mark.proves("MCP-demo", "MCP-demo-answers")
@pytest.mark.parametrize("era", ERAS)
async def test_the_demo_endpoint_answers_two_tools_and_explains_the_other_five(
    service: Service, era: str
) -> None:
    arguments = {"get_family_track_record": {}, "demo": {"symbol": "AAPL"}}
    async with connected(f"{service.mcp_url}/demo", era=era) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == SEVEN
        for name in SEVEN:
            result = await call(client, name, **arguments.get(name, {}))
            if OPERATIONS[name].access == "keyless":
                assert not result.is_error
            else:
                assert result.is_error
                assert texts(result)[0].startswith("missing_api_key: ")
                assert service.mcp_url in texts(result)[0]


@pytest.mark.proves("MCP-seven")
def test_an_unknown_tool_is_a_protocol_error(service: Service) -> None:
    answer = post(service.mcp_url, service.key, "tools/call", name="add_tickers", arguments={})

    assert answer.json()["error"]["code"] == -32602


def test_a_foreign_origin_and_a_foreign_host_are_refused(service: Service) -> None:
    headers = {
        "Authorization": f"Bearer {service.key}",
        "Accept": "application/json, text/event-stream",
    }
    body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    for name in ("Origin", "Host"):
        forged = {**headers, name: "http://evil.example" if name == "Origin" else "evil.example"}
        answer = httpx.post(service.mcp_url, json=body, headers=forged)
        assert answer.status_code in (403, 421)


def test_a_body_over_64_kilobytes_is_413(service: Service) -> None:
    answer = post(service.mcp_url, service.key, "ping", padding="x" * 70_000)

    assert answer.status_code == 413


async def test_the_server_says_who_it_is_with_icons_that_can_be_read(service: Service) -> None:
    async with connected(service.mcp_url, service.key) as client:
        info = client.server_info

    assert info is not None
    assert info.title == "Pattern screener"
    assert info.website_url == f"{service.url}/docs"
    for icon in info.icons or []:
        answer = httpx.get(icon.src)
        assert answer.headers["content-type"] == icon.mime_type
    assert len(info.icons or []) == 4


@pytest.mark.parametrize("era", ERAS)
async def test_there_are_no_templates_of_resources(service: Service, era: str) -> None:
    async with connected(service.mcp_url, service.key, era) as client:
        assert (await client.list_resource_templates()).resource_templates == []


async def test_what_never_changes_may_be_reused_for_an_hour_by_anybody(service: Service) -> None:
    async with connected(service.mcp_url, service.key, "2026-07-28") as client:
        listings: list[Any] = [
            await client.list_tools(),
            await client.list_prompts(),
            await client.list_resources(),
            await client.list_resource_templates(),
        ]

    for listing in listings:
        assert (listing.ttl_ms, listing.cache_scope) == (3_600_000, "public")


async def test_the_demo_names_its_symbols(service: Service) -> None:
    async with connected(service.mcp_url, service.key) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}

    assert "MSFT, AAPL, GOOG, IBM" in (listed["demo"].description or "")
    family = listed["get_family_track_record"].input_schema["properties"]["family"]
    assert len(family["enum"]) == 5

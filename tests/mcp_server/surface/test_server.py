"""The MCP endpoints as hosts use them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import mcp_types as types
import pytest
from mcp.shared.inbound import x_mcp_header_map

from mcp_server.operations.rules import CONTENT_RULES
from mcp_server.operations.services import Offer
from mcp_server.operations.table import OPERATIONS
from mcp_server.surface.server import tools
from mcp_server.surface.toolsets import EXTENDED
from store.database import Database
from store.keys import Keys
from store.usage import UsageLog, Use
from tests.agent import ERAS, call, connected, texts
from tests.service import Service, on_database, serving

LISTED = tools(EXTENDED, Offer("https://screener.example.com", ("AAPL", "GOOG")))
CHANGING = {"set_tracked_tickers", "add_tickers", "remove_tickers"}

SEVEN: dict[str, tuple[set[str], set[str]]] = {
    "get_ticker_patterns": ({"symbol"}, {"symbol"}),
    "get_pattern_history": (
        {"symbol", "limit", "outcome", "family", "since", "until"},
        {"symbol"},
    ),
    "get_pattern_chart": ({"symbol", "setup_id"}, {"symbol", "setup_id"}),
    "list_tracked_tickers": (set(), set()),
    "set_tracked_tickers": ({"symbols"}, {"symbols"}),
    "get_family_track_record": ({"family"}, set()),
    "demo": ({"symbol"}, {"symbol"}),
}
"""The arguments of each tool in the order of the list, and which of them it requires."""


def post(url: str, key: str, method: str, **params: Any) -> httpx.Response:
    headers = {"Accept": "application/json, text/event-stream"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return httpx.post(url, json=body, headers=headers, timeout=30)


def test_no_tool_names_a_parameter_header() -> None:
    """Therefore the endpoint need not compare header fields with a call's arguments."""
    assert [tool.name for tool in LISTED if x_mcp_header_map(tool.input_schema)] == []


@pytest.mark.proves("MCP-get_ticker_patterns", "MCP-get_pattern_history", "MCP-get_pattern_chart")
@pytest.mark.proves("MCP-list_tracked_tickers", "MCP-set_tracked_tickers", "MCP-demo-tool")
@pytest.mark.proves("MCP-get_family_track_record", "MCP-seven", "RULE-6", "MCP-demo", "AUTH-3")
@pytest.mark.proves("MCP-demo-answers")
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("path", ["", "/demo"])
async def test_the_seven_tools_take_their_arguments_and_the_demo_explains_how_to_use_five(
    service: Service, path: str, era: str
) -> None:
    given = {"symbol": "AAPL", "symbols": ["AAPL"], "setup_id": "x"}
    async with connected(service.mcp_url + path, "" if path else service.key, era) as client:
        listed = (await client.list_tools()).tools
        for name, (_, required) in SEVEN.items() if path else ():
            result = await call(client, name, **{each: given[each] for each in required})
            assert result.is_error is (OPERATIONS[name].access == "keyed")
            if result.is_error:
                assert texts(result)[0].startswith("missing_api_key: ")
                assert service.mcp_url in texts(result)[0]
                assert "Authorization: Bearer" in texts(result)[0]

    schemas = {tool.name: tool.input_schema for tool in listed}
    assert list(schemas) == list(SEVEN)
    assert {
        name: (set(schema["properties"]), set(schema.get("required", ())))
        for name, schema in schemas.items()
    } == SEVEN


@pytest.mark.proves("MCP-address", "MCP-methods", "MCP-results", "RULE-6")
def test_the_endpoint_answers_json_rpc_over_post_without_a_session_or_a_call_before(
    service: Service,
) -> None:
    first = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "probe", "version": "1"},
    }
    tool = {"name": "get_ticker_patterns", "arguments": {"symbol": "AAPL"}}
    answers = {
        method: post(service.mcp_url, service.key, method, **params)
        for method, params in (
            *(("tools/call", tool), ("ping", {}), ("tools/list", {}), ("initialize", first)),
        )
    }

    for answer in answers.values():
        assert answer.status_code == 200
        assert "mcp-session-id" not in answer.headers
        assert (answer.json()["jsonrpc"], answer.json()["id"]) == ("2.0", 1)
    assert answers["ping"].json()["result"] == {}
    patterns = answers["tools/call"].json()["result"]["structuredContent"]
    assert patterns == service.get("/tickers/AAPL/patterns").json()


def usage(service: Service) -> dict[str, Use]:
    """The lines of the service's account, by operation."""

    async def read(database: Database) -> dict[str, Use]:
        holder = await Keys(database).principal(service.key)
        assert holder is not None
        entries = await UsageLog(database).entries(holder.account.id)
        return {entry.use.operation: entry.use for entry in entries}

    return on_database(service, read)


@pytest.mark.proves("BASE-client", "MCP-client")
async def test_who_called_is_recorded_as_the_client_names_itself(data_dir: Path) -> None:
    host = types.Implementation(name="some-host", version="3.1")
    with serving(data_dir) as live:
        named = {"X-Service-Client": "notebook/2", "User-Agent": "other/1"}
        live.get("/me", headers=named).raise_for_status()
        live.get("/scan", headers={"User-Agent": "curl/8"}).raise_for_status()
        async with connected(live.mcp_url, live.key, "legacy", host):
            pass
        async with connected(live.mcp_url, live.key, "2026-07-28", host) as agent:
            assert not (await call(agent, "list_tracked_tickers")).is_error

    lines = usage(live)
    assert lines["me"].client == "notebook/2"
    assert lines["scan"].client == "curl/8"
    assert lines["initialize"].host == "some-host/3.1"
    assert lines["list_tracked_tickers"].host == "some-host/3.1"


@pytest.mark.proves("MCP-lists")
@pytest.mark.parametrize("era", ERAS)
async def test_prompts_and_resources_are_empty_lists(service: Service, era: str) -> None:
    async with connected(service.mcp_url, service.key, era) as client:
        assert (await client.list_prompts()).prompts == []
        assert (await client.list_resources()).resources == []
        assert (await client.list_resource_templates()).resource_templates == []


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


@pytest.mark.proves("OAUTH-discover", "OAUTH-resource")
def test_no_credentials_get_the_challenge_without_an_error(service: Service) -> None:
    answer = post(service.mcp_url, "", "tools/list")

    metadata = f"{service.url}/.well-known/oauth-protected-resource/mcp"
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == f'Bearer resource_metadata="{metadata}"'
    assert answer.json()["error"] == "missing_api_key"
    document = httpx.get(metadata).json()
    assert document["resource"] == service.mcp_url
    assert document["authorization_servers"] == [service.url]
    assert document["scopes_supported"] == ["patterns"]


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
    for bad in (key, "ps_live_"):
        answer = post(service.mcp_url, bad, "tools/list")
        assert answer.status_code == 200
        assert "www-authenticate" not in answer.headers


@pytest.mark.proves("MCP-seven")
def test_an_unknown_tool_is_a_protocol_error(service: Service) -> None:
    answer = post(service.mcp_url, service.key, "tools/call", name="add_tickers", arguments={})

    assert answer.json()["error"]["code"] == -32602


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

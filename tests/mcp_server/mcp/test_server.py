"""The MCP endpoints as hosts use them."""

from __future__ import annotations

from pathlib import Path

import httpx
import mcp_types as types
import pytest
from mcp.shared.inbound import x_mcp_header_map

from mcp_server.mcp.server import tools
from mcp_server.mcp.toolsets import DEMO, EXTENDED, FULL, Toolset
from mcp_server.presentation.offer import Offer
from store.accounts.keys import Keys
from store.accounts.usage import UsageLine
from store.database.database import Database
from tests.accounts import usage_lines
from tests.agent import ERAS, INITIALIZE, call, connected, post
from tests.service import Service, on_database, serving

OFFER = Offer("https://screener.example.com", ("AAPL", "GOOG"))
LISTED = tools(EXTENDED, OFFER)

SEVEN = {
    "get_ticker_patterns": ["symbol"],
    "get_pattern_history": ["symbol", "limit?", "outcome?"],
    "get_pattern_chart": ["symbol", "setup_id"],
    "list_tracked_tickers": [],
    "set_tracked_tickers": ["symbols"],
    "get_family_track_record": ["family?"],
    "demo": ["symbol"],
}
"""The arguments that the interface gives each tool; a client may leave out those with a mark."""


def test_no_tool_names_a_parameter_header() -> None:
    """Therefore the endpoint need not compare header fields with a call's arguments."""
    assert [tool.name for tool in LISTED if x_mcp_header_map(tool.input_schema)] == []


@pytest.mark.proves("MCP-get_ticker_patterns", "MCP-get_pattern_history", "MCP-get_pattern_chart")
@pytest.mark.proves("MCP-list_tracked_tickers", "MCP-set_tracked_tickers", "MCP-demo-tool")
@pytest.mark.proves("MCP-get_family_track_record", "MCP-seven", "RULE-6")
@pytest.mark.parametrize("toolset", [FULL, DEMO])
def test_the_seven_tools_take_their_arguments(toolset: Toolset) -> None:
    schemas = {tool.name: tool.input_schema for tool in tools(toolset, OFFER)}

    assert list(schemas) == list(SEVEN)
    for name, given in SEVEN.items():
        assert {argument.strip("?") for argument in given} <= set(schemas[name]["properties"])
        required = {argument for argument in given if not argument.endswith("?")}
        assert set(schemas[name].get("required", ())) == required


@pytest.mark.proves("MCP-seven")
def test_a_tool_of_another_address_is_a_protocol_error(service: Service) -> None:
    answer = post(service.mcp_url, service.key, "tools/call", name="add_tickers", arguments={})

    assert answer.json()["error"]["code"] == -32602


@pytest.mark.proves("MCP-address", "MCP-methods", "MCP-results", "RULE-6")
def test_the_endpoint_answers_json_rpc_over_post_without_a_session_or_a_call_before(
    service: Service,
) -> None:
    tool = {"name": "get_ticker_patterns", "arguments": {"symbol": "AAPL"}}
    calls = {"tools/call": tool, "ping": {}, "tools/list": {}, "initialize": INITIALIZE}
    answers = {
        method: post(service.mcp_url, service.key, method, **params)
        for method, params in calls.items()
    }

    for answer in answers.values():
        assert answer.status_code == 200
        assert "mcp-session-id" not in answer.headers
        assert (answer.json()["jsonrpc"], answer.json()["id"]) == ("2.0", 1)
    assert answers["ping"].json()["result"] == {}
    patterns = answers["tools/call"].json()["result"]["structuredContent"]
    assert patterns == service.get("/tickers/AAPL/patterns").json()


def usage(service: Service) -> dict[str, UsageLine]:
    """The lines of the service's account, by operation."""

    async def read(database: Database) -> dict[str, UsageLine]:
        holder = await Keys(database).principal(service.key)
        assert holder is not None
        lines = await usage_lines(database, holder.account.id)
        return {line.operation: line for line in lines}

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


@pytest.mark.proves("MCP-405")
@pytest.mark.parametrize("path", ["/mcp", "/mcp/demo"])
@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT"])
def test_anything_but_post_is_405_and_says_to_programs_and_people_how_to_connect(
    service: Service, path: str, method: str
) -> None:
    answer = httpx.request(method, service.url + path)
    page = httpx.request(method, service.url + path, headers={"Accept": "text/html,*/*;q=0.8"})

    for each in (answer, page):
        assert (each.status_code, each.headers["allow"]) == (405, "POST")
        challenge = each.headers.get("www-authenticate", "")
        assert challenge.startswith("Bearer resource_metadata=" if path == "/mcp" else "")
        assert bool(challenge) is (path == "/mcp")
    assert answer.json()["error"] == "method_not_allowed"
    assert page.headers["content-type"].startswith("text/html")
    assert f'href="{service.url}/docs"' in page.text


async def test_the_server_says_who_it_is(service: Service) -> None:
    async with connected(service.mcp_url, service.key) as client:
        info = client.server_info

    assert info is not None
    assert info.title == "Pattern screener"
    assert info.website_url == f"{service.url}/docs"
    assert len(info.icons or []) == 4


@pytest.mark.proves("MCP-lists")
@pytest.mark.parametrize("era", ERAS)
async def test_lists_may_be_reused_for_an_hour_by_anybody_and_those_but_of_tools_are_empty(
    service: Service, era: str
) -> None:
    async with connected(service.mcp_url, service.key, era) as client:
        prompts, resources = await client.list_prompts(), await client.list_resources()
        templates, tools = await client.list_resource_templates(), await client.list_tools()

    assert not [*prompts.prompts, *resources.resources, *templates.resource_templates]
    if era != "legacy":
        for listing in (prompts, resources, templates, tools):
            assert (listing.ttl_ms, listing.cache_scope) == (3_600_000, "public")

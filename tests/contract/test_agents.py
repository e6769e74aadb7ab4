"""The agent endpoint: its methods, its seven tools, the demo variant and what is recorded."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import httpx
import mcp_types as types
import pytest

from store.database import Database
from store.keys import Keys
from store.usage import UsageLog, Use
from tests.agent import ERAS, call, connected, images, text_json, texts
from tests.service import Service, apart, new_key, serving

ARGUMENTS = {
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
"""The arguments of each tool, and which of them it requires."""


def post(url: str, key: str, body: Any) -> httpx.Response:
    headers = {"Accept": "application/json, text/event-stream"}
    if key:
        headers["Authorization"] = f"Bearer {key}"
    return httpx.post(url, json=body, headers=headers, timeout=30)


@pytest.mark.proves("MCP-get_ticker_patterns", "MCP-get_pattern_history", "MCP-get_pattern_chart")
@pytest.mark.proves("MCP-list_tracked_tickers", "MCP-set_tracked_tickers", "MCP-demo-tool")
@pytest.mark.proves("MCP-get_family_track_record", "MCP-seven", "RULE-6")
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("path", ["", "/demo"])
async def test_the_seven_tools_take_their_arguments_and_no_others(
    service: Service, path: str, era: str
) -> None:
    async with connected(service.mcp_url + path, "" if path else service.key, era) as client:
        listed = (await client.list_tools()).tools

    found = {
        tool.name: (
            set(tool.input_schema["properties"]),
            set(tool.input_schema.get("required", ())),
        )
        for tool in listed
    }
    assert found == ARGUMENTS


@pytest.mark.proves("MCP-address", "MCP-methods", "RULE-6")
def test_the_endpoint_answers_json_rpc_over_post_without_a_session(service: Service) -> None:
    first = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "probe", "version": "1"},
    }
    for method, parameters in (("ping", {}), ("tools/list", {}), ("initialize", first)):
        body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": parameters}
        answer = post(service.mcp_url, service.key, body)
        assert answer.status_code == 200
        assert "mcp-session-id" not in answer.headers
        assert (answer.json()["jsonrpc"], answer.json()["id"]) == ("2.0", 7)
        assert "result" in answer.json()


@pytest.mark.proves("MCP-methods", "MCP-results", "MCP-address")
def test_a_tool_is_called_without_any_call_before_it(service: Service) -> None:
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "get_ticker_patterns", "arguments": {"symbol": "AAPL"}},
    }
    result = post(service.mcp_url, service.key, body).json()["result"]

    assert result["structuredContent"] == service.get("/tickers/AAPL/patterns").json()


@pytest.mark.proves("MCP-demo", "MCP-demo-answers", "AUTH-3", "RULE-6")
@pytest.mark.parametrize("era", ERAS)
async def test_the_demo_endpoint_needs_no_credentials_and_says_how_to_connect_properly(
    service: Service, era: str
) -> None:
    arguments = {"symbol": "AAPL", "symbols": ["AAPL"], "setup_id": "x"}
    async with connected(f"{service.mcp_url}/demo", era=era) as client:
        results = {
            name: await call(client, name, **{each: arguments[each] for each in required})
            for name, (_, required) in ARGUMENTS.items()
        }

    answered = {name for name, result in results.items() if not result.is_error}
    assert answered == {"demo", "get_family_track_record"}
    families = results["get_family_track_record"].structured_content
    assert families == service.get("/families", key="").json()
    for name in set(ARGUMENTS) - answered:
        assert service.mcp_url in texts(results[name])[0]
        assert "Authorization: Bearer" in texts(results[name])[0]


@pytest.mark.proves("MCP-demo-tool", "MCP-results")
@pytest.mark.parametrize("path", ["", "/demo"])
async def test_the_demo_tool_answers_the_demo_route_and_the_first_chart(
    service: Service, path: str
) -> None:
    async with connected(service.mcp_url + path, "" if path else service.key) as client:
        result = await call(client, "demo", symbol="msft")

    body = service.get("/demo/MSFT", key="" if path else service.key).json()
    first = body["setups"][0]["setup_id"]
    chart = service.get(f"/demo/MSFT/chart.png?setup_id={first}", key="").content
    assert result.structured_content == text_json(result) == body
    assert [base64.b64decode(image.data) for image in images(result)] == [chart]


@pytest.mark.proves("MCP-set_tracked_tickers", "MCP-list_tracked_tickers")
async def test_the_list_is_read_and_replaced_by_tools(service: Service) -> None:
    key = new_key(service.settings, "agent@example.com", tracked=("IBM",))
    async with connected(service.mcp_url, key) as client:
        before = (await call(client, "list_tracked_tickers")).structured_content
        after = (
            await call(client, "set_tracked_tickers", symbols=["fb", "INTC"])
        ).structured_content
        listed = (await call(client, "list_tracked_tickers")).structured_content

    assert before is not None
    assert [ticker["symbol"] for ticker in before["tickers"]] == ["IBM"]
    assert listed == service.get("/tickers", key=key).json()
    assert after is not None
    assert after["tickers"] == [
        {"symbol": "FB", "covered": True},
        {"symbol": "INTC", "covered": False},
    ]
    assert (after["added"], after["removed"]) == (["FB", "INTC"], ["IBM"])


def usage(service: Service, key: str) -> dict[str, Use]:
    """The lines of the account behind a key, by operation."""

    async def read() -> dict[str, Use]:
        database = Database(service.settings.accounts_url)
        try:
            holder = await Keys(database).principal(key)
            assert holder is not None
            entries = await UsageLog(database).entries(holder.account.id)
        finally:
            await database.close()
        return {entry.use.operation: entry.use for entry in entries}

    return apart(read)


@pytest.mark.proves("BASE-client")
def test_the_client_header_is_recorded_and_the_user_agent_in_its_absence(data_dir: Path) -> None:
    with serving(data_dir) as live:
        named = {"X-Service-Client": "notebook/2", "User-Agent": "other/1"}
        live.get("/me", headers=named).raise_for_status()
        live.get("/scan", headers={"User-Agent": "curl/8"}).raise_for_status()

    lines = usage(live, live.key)
    assert lines["me"].client == "notebook/2"
    assert lines["scan"].client == "curl/8"


@pytest.mark.proves("MCP-client")
def test_initialize_records_the_hosts_client_info(data_dir: Path) -> None:
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "some-host", "version": "3.1"},
        },
    }
    with serving(data_dir) as live:
        assert post(live.mcp_url, live.key, body).status_code == 200

    assert usage(live, live.key)["initialize"].host == "some-host/3.1"


@pytest.mark.proves("MCP-client")
async def test_a_call_of_2026_records_the_host_that_it_names(data_dir: Path) -> None:
    host = types.Implementation(name="some-host", version="3.1")
    with serving(data_dir) as live:
        async with connected(live.mcp_url, live.key, "2026-07-28", host) as agent:
            assert not (await call(agent, "list_tracked_tickers")).is_error

    line = usage(live, live.key)["list_tracked_tickers"]
    assert line.host == "some-host/3.1"


@pytest.mark.proves("OAUTH-key")
@pytest.mark.parametrize("key", ["ps_live_" + "x" * 48, "ps_live_"])
def test_a_bad_key_never_starts_a_sign_in_at_the_endpoint(service: Service, key: str) -> None:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    answer = post(service.mcp_url, key, body)

    assert answer.status_code == 200
    assert "www-authenticate" not in answer.headers


@pytest.mark.proves("OAUTH-discover", "OAUTH-resource")
def test_a_host_without_credentials_finds_the_authorization_server(service: Service) -> None:
    answer = post(service.mcp_url, "", {"jsonrpc": "2.0", "id": 1, "method": "initialize"})

    scheme, parameters = answer.headers["www-authenticate"].split(" ", 1)
    name, url = parameters.split("=", 1)
    assert (answer.status_code, scheme, name) == (401, "Bearer", "resource_metadata")
    metadata = httpx.get(url.strip('"')).json()
    assert metadata["authorization_servers"] == [service.url]
    assert url.strip('"') == f"{service.url}/.well-known/oauth-protected-resource/mcp"

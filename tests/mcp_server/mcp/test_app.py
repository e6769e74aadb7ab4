"""The chart page as a host gets it: named by two tools, read as a resource, fed by results."""

from __future__ import annotations

from typing import Any

import mcp_types as types
import pytest
from mcp.client import Client
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID
from mcp.shared.exceptions import MCPError

from mcp_server.mcp.app_page import DATA_KEY, PAGE_URI, chart_page
from tests.agent import ERAS, call, connected, images, modern, texts
from tests.service import Service

DECLARED = {"mimeTypes": [APP_MIME_TYPE]}
ADDRESSES = ("/mcp", "/mcp/demo", "/mcp/extended")


def raw(service: Service, method: str, *extensions: str, **params: Any) -> Any:
    """The result of a request whose client declares some extensions."""
    declared = {"extensions": dict.fromkeys(extensions, DECLARED)}
    return modern(service.mcp_url, service.key, method, declared, **params)


async def chart_of(client: Client, symbol: str, *, page: bool = True) -> types.CallToolResult:
    """The chart of a symbol's first setup, as the page asks for it, or as a model does."""
    patterns = await call(client, "get_ticker_patterns", symbol=symbol)
    setups = (patterns.structured_content or {})["setups"]
    chosen: dict[str, Any] = {"symbol": symbol, "setup_id": setups[0]["setup_id"]}
    return await call(client, "get_pattern_chart", **chosen, **({DATA_KEY: True} if page else {}))


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("path", ADDRESSES)
async def test_two_tools_name_one_page_that_can_be_read_and_is_not_listed(
    service: Service, path: str, era: str
) -> None:
    key = "" if path.endswith("demo") else service.key
    async with connected(service.url + path, key, era) as client:
        listed = (await client.list_tools()).tools
        named = {tool.name: (tool.meta or {}).get("ui") for tool in listed}
        page = await client.read_resource(PAGE_URI)
        resources = (await client.list_resources()).resources

    assert resources == []
    assert {name for name, ui in named.items() if ui} == {"get_pattern_chart", "demo"}
    assert named["demo"] == named["get_pattern_chart"] == {"resourceUri": PAGE_URI}
    content = page.contents[0]
    assert isinstance(content, types.TextResourceContents)
    assert (str(content.uri), content.mime_type) == (PAGE_URI, "text/html;profile=mcp-app")
    assert content.text == chart_page()
    assert "csp" not in (content.meta or {})["ui"]


@pytest.mark.parametrize(("era", "code"), [("legacy", -32002), ("2026-07-28", -32602)])
async def test_another_resource_is_not_found(service: Service, era: str, code: int) -> None:
    async with connected(service.mcp_url, service.key, era) as client:
        with pytest.raises(MCPError) as refusal:
            await client.read_resource("ui://pattern-screener/other")

    assert refusal.value.error.code == code
    assert "other" not in refusal.value.error.message


def test_the_extension_is_declared_and_the_page_may_be_kept_for_an_hour(service: Service) -> None:
    capabilities = raw(service, "server/discover")["capabilities"]
    page = raw(service, "resources/read", uri=PAGE_URI)

    assert capabilities["extensions"] == {EXTENSION_ID: {"mimeTypes": [APP_MIME_TYPE]}}
    assert (page["ttlMs"], page["cacheScope"]) == (3_600_000, "public")


@pytest.mark.parametrize("symbol", ["AAPL", "GOOG"])
async def test_a_chart_carries_what_the_page_draws_beside_the_same_content(
    service: Service, symbol: str
) -> None:
    async with connected(service.mcp_url, service.key) as client:
        result = await chart_of(client, symbol)
        patterns = await call(client, "get_ticker_patterns", symbol=symbol)

    assert len(images(result)) == 1
    assert len(texts(result)) == 2  # the caption, and that the night is old
    assert result.structured_content is None
    data = (result.meta or {})[DATA_KEY]
    setup = (patterns.structured_content or {})["setups"][0]
    levels = setup["plans"][0].keys()
    assert [{name: plan[name] for name in levels} for plan in data["plans"]] == setup["plans"]
    assert data["records"]["family"]["summary"] == setup["track_record"]["family"]["summary"]
    assert data["next_session"] == "2012-10-04"
    assert len({len(column) for column in data["bars"].values()}) == 1
    assert data["bars"]["volume"][-1] > 0
    assert "RateLimit" in (result.meta or {})
    assert set(result.meta or {}) == {DATA_KEY, "RateLimit", "RateLimit-Policy"}


async def test_a_host_that_did_not_say_that_it_shows_pages_gets_no_bars(service: Service) -> None:
    async with connected(service.mcp_url, service.key) as client:
        results = [await chart_of(client, "AAPL", page=False)]
        results.append(await call(client, "demo", symbol="AAPL"))

    assert all(DATA_KEY not in (result.meta or {}) for result in results)
    assert all(len(str(result.meta)) < 500 for result in results)


def test_a_client_of_2026_gets_the_bars_only_if_it_declares_the_extension(service: Service) -> None:
    arguments = {"symbol": "AAPL"}
    plain = raw(service, "tools/call", name="demo", arguments=arguments)
    other = raw(service, "tools/call", "com.example/else", name="demo", arguments=arguments)
    shown = raw(service, "tools/call", EXTENSION_ID, name="demo", arguments=arguments)

    assert DATA_KEY not in plain["_meta"]
    assert DATA_KEY not in other["_meta"]
    assert shown["_meta"][DATA_KEY]["symbol"] == "AAPL"
    assert plain["content"] == shown["content"]


async def test_a_refusal_carries_no_bars(service: Service) -> None:
    async with connected(service.mcp_url, service.key) as client:
        result = await call(client, "get_pattern_chart", symbol="AAPL", setup_id="none")

    assert result.is_error
    assert DATA_KEY not in (result.meta or {})

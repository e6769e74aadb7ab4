"""Parity: one operation, two surfaces, the same answer and the same refusal."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from store.accounts import Plan
from tests.agent import ERAS, call, connected, images, text_json, texts
from tests.service import Service, new_key

KEYED: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("get_ticker_patterns", {"symbol": "aapl"}, "/tickers/aapl/patterns"),
    ("get_ticker_patterns", {"symbol": "IBM"}, "/tickers/IBM/patterns"),
    ("get_pattern_history", {"symbol": "MSFT"}, "/tickers/MSFT/history"),
    (
        "get_pattern_history",
        {"symbol": "MSFT", "limit": 3, "outcome": "resolved"},
        "/tickers/MSFT/history?limit=3&outcome=resolved",
    ),
    ("list_tracked_tickers", {}, "/tickers"),
    ("get_family_track_record", {}, "/families"),
    ("get_family_track_record", {"family": "triangle"}, "/families/triangle/stats"),
    ("demo", {"symbol": "GOOG"}, "/demo/GOOG"),
)


@pytest.mark.proves(
    "MCP-results", "MCP-get_ticker_patterns", "MCP-get_pattern_history", "MCP-list_tracked_tickers"
)
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("tool", "arguments", "path"), KEYED)
async def test_a_tool_answers_what_its_route_answers(
    service: Service, era: str, tool: str, arguments: dict[str, Any], path: str
) -> None:
    body = service.get(path).raise_for_status().json()

    async with connected(service.mcp_url, service.key, era) as client:
        result = await call(client, tool, **arguments)

    assert not result.is_error
    assert text_json(result) == body
    assert result.structured_content == body
    assert body["api_version"] == "v1"
    assert body["as_of_session"] == "2012-10-03"


@pytest.mark.proves("MCP-get_pattern_chart")
@pytest.mark.parametrize("era", ERAS)
async def test_the_chart_tool_shows_the_picture_of_the_chart_route(
    service: Service, era: str
) -> None:
    setup = service.get("/tickers/GOOG/patterns").json()["setups"][0]
    picture = service.get("/tickers/GOOG/chart.png", params={"setup_id": setup["setup_id"]})

    async with connected(service.mcp_url, service.key, era) as client:
        result = await call(client, "get_pattern_chart", symbol="GOOG", setup_id=setup["setup_id"])

    assert picture.headers["content-type"] == "image/png"
    assert picture.headers["cache-control"] == "private, max-age=3600"
    assert base64.b64decode(images(result)[0].data) == picture.content
    assert result.structured_content is None
    words = texts(result)[0]
    for fact in ("GOOG", setup["family_label"], "forming", "2012-10-03", "not investment advice"):
        assert fact in words


@pytest.mark.proves("MCP-demo-tool")
async def test_the_demo_tool_adds_the_first_chart(service: Service) -> None:
    setup = service.get("/demo/GOOG", key="").json()["setups"][0]
    path = "/demo/GOOG/chart.png"
    picture = service.get(path, key="", params={"setup_id": setup["setup_id"]})

    async with connected(f"{service.mcp_url}/demo") as client:
        result = await call(client, "demo", symbol="goog")

    assert base64.b64decode(images(result)[0].data) == picture.content
    assert picture.headers["cache-control"] == "public, max-age=3600"


REFUSED = (
    ("get_ticker_patterns", {"symbol": "FB"}, "/tickers/FB/patterns", "ticker_not_tracked"),
    ("get_pattern_history", {"symbol": "FB"}, "/tickers/FB/history", "ticker_not_tracked"),
    (
        "get_pattern_history",
        {"symbol": "IBM", "limit": "x"},
        "/tickers/IBM/history?limit=x",
        "bad_request",
    ),
    (
        "get_pattern_history",
        {"symbol": "IBM", "outcome": "win"},
        "/tickers/IBM/history?outcome=win",
        "bad_request",
    ),
    ("get_pattern_chart", {"symbol": "IBM"}, "/tickers/IBM/chart.png", "bad_request"),
    (
        "get_pattern_chart",
        {"symbol": "IBM", "setup_id": "x"},
        "/tickers/IBM/chart.png?setup_id=x",
        "setup_not_found",
    ),
    ("get_family_track_record", {"family": "cup"}, "/families/cup/stats", "unknown_family"),
    ("demo", {"symbol": "FB"}, "/demo/FB", "not_a_demo_symbol"),
)


@pytest.mark.proves("ERR-mcp", "MCP-errors")
@pytest.mark.parametrize(("tool", "arguments", "path", "code"), REFUSED)
async def test_a_tool_refuses_with_the_code_of_its_route(
    service: Service, tool: str, arguments: dict[str, Any], path: str, code: str
) -> None:
    refusal = service.get(path).json()

    async with connected(service.mcp_url, service.key) as client:
        result = await call(client, tool, **arguments)

    assert refusal["error"] == code
    assert result.is_error
    assert texts(result)[0].startswith(f"{code}: ")


@pytest.mark.proves("ERR-forbidden", "ERR-mcp")
async def test_a_forbidden_plan_is_refused_on_both_surfaces(service: Service) -> None:
    key = new_key(service.settings, "free@example.com", Plan.NONE, ())

    async with connected(service.mcp_url, key) as client:
        result = await call(client, "list_tracked_tickers")

    assert service.get("/tickers", key=key).status_code == 403
    assert service.get("/tickers", key=key).json()["error"] == "forbidden"
    assert texts(result)[0].startswith("forbidden: ")


@pytest.mark.proves("MCP-set_tracked_tickers")
async def test_setting_the_tracked_list_is_seen_on_the_other_surface(service: Service) -> None:
    key = new_key(service.settings, "setter@example.com", tracked=())

    async with connected(service.mcp_url, key) as client:
        result = await call(client, "set_tracked_tickers", symbols=["msft", "AAPL", "MSFT"])

    listed = service.get("/tickers", key=key).json()
    assert result.structured_content["added"] == ["MSFT", "AAPL"]
    assert [ticker["symbol"] for ticker in listed["tickers"]] == ["MSFT", "AAPL"]

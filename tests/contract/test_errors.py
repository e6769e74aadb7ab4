"""The thirteen error codes: each on every surface that lists it, in one shape."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from mcp_server.operations.errors import CATALOGUE
from store.accounts import Plan
from tests.agent import ERAS, call, connected, texts
from tests.contract.market import Market
from tests.service import Service, new_key, serving

CODES = {
    "missing_api_key": 401,
    "invalid_api_key": 401,
    "forbidden": 403,
    "ticker_not_tracked": 403,
    "rate_limited": 429,
    "bad_request": 400,
    "invalid_symbol": 400,
    "unknown_symbol": 400,
    "ticker_cap_exceeded": 400,
    "unknown_family": 404,
    "setup_not_found": 404,
    "chart_unavailable": 404,
    "not_a_demo_symbol": 404,
}
FIXES = {
    "missing_api_key": "Send the header",
    "invalid_api_key": "Create a new key",
    "forbidden": "the same key then works",
    "ticker_not_tracked": "slots are free",
    "rate_limited": "retry once, then back off",
    "bad_request": "Correct the named parameter",
    "invalid_symbol": "upper-case exchange symbols",
    "unknown_symbol": "/universe",
    "ticker_cap_exceeded": "remove some first",
    "unknown_family": "details.allowed",
    "setup_not_found": "patterns again",
    "chart_unavailable": "from the JSON",
    "not_a_demo_symbol": "details.demo_symbols",
}


@dataclass(frozen=True)
class Case:
    """One refusal, and a route and a tool call that give it."""

    path: str
    tool: str = "list_tracked_tickers"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    method: str = "GET"
    body: Any = None


KEYED = Case("/tickers")
MANY = [f"M{number}" for number in range(1, 300)]


def put(symbols: list[str]) -> Case:
    arguments = {"symbols": symbols}
    return Case("/tickers", "set_tracked_tickers", arguments, "PUT", arguments)


CASES = {
    "missing_api_key": KEYED,
    "invalid_api_key": KEYED,
    "forbidden": KEYED,
    "rate_limited": KEYED,
    "ticker_not_tracked": Case("/tickers/M9/patterns", "get_ticker_patterns", {"symbol": "M9"}),
    "bad_request": Case(
        "/tickers/M1/history?limit=x", "get_pattern_history", {"symbol": "M1", "limit": "x"}
    ),
    "invalid_symbol": put(["A-B"]),
    "unknown_symbol": put(["NOPE"]),
    "ticker_cap_exceeded": put(MANY),
    "unknown_family": Case("/families/cup/stats", "get_family_track_record", {"family": "cup"}),
    "setup_not_found": Case(
        "/tickers/M1/chart.png?setup_id=x",
        "get_pattern_chart",
        {"symbol": "M1", "setup_id": "x"},
    ),
    "chart_unavailable": Case(
        "/tickers/M1/chart.png?setup_id=setup1",
        "get_pattern_chart",
        {"symbol": "M1", "setup_id": "setup1"},
    ),
    "not_a_demo_symbol": Case("/demo/M1", "demo", {"symbol": "M1"}),
}


def check_error(answer: httpx.Response, code: str) -> dict[str, Any]:
    body: dict[str, Any] = answer.json()
    assert answer.headers["content-type"] == "application/json"
    assert set(body) - {"details"} == {"error", "message", "fix", "docs_url"}
    assert all(isinstance(body[name], str) and body[name] for name in set(body) - {"details"})
    assert "details" not in body or (isinstance(body["details"], dict) and body["details"])
    assert body["docs_url"].startswith("http")
    assert (answer.status_code, body["error"]) == (CATALOGUE[code].status, code)
    return body


def key_for(code: str, live: Service, email: str) -> str:
    """A credential with which a call fails with the given error code."""
    if code == "missing_api_key":
        return ""
    if code == "invalid_api_key":
        return "ps_live_" + "x" * 48
    plan = Plan.NONE if code == "forbidden" else Plan.PREMIUM_PLUS
    return new_key(live.settings, email, plan, ("M1",))


@pytest.mark.proves("ERR-branch", "VER-2", "ERROR-error")
def test_the_codes_of_the_contract_are_these_thirteen_with_these_statuses() -> None:
    promised = {row.code: row.status for row in CATALOGUE.values() if row.in_contract}

    assert promised == CODES
    assert set(CASES) == set(CODES)


TOOL_FIXES = {
    "invalid_api_key": "new key in the settings of the host",
    "forbidden": "the same connection then works",
    "ticker_not_tracked": "slots are free",
    "bad_request": "Correct the named parameter",
    "invalid_symbol": "24 letters, digits and dots",
    "unknown_symbol": "in place of each unknown one",
    "ticker_cap_exceeded": "Ask the user which tickers may go",
    "unknown_family": "Use one of those",
    "setup_not_found": "Call get_ticker_patterns",
    "chart_unavailable": "draw the lines from their endpoints",
    "not_a_demo_symbol": "Use one of those",
}

ROUTE_WORDS = re.compile(r"\b(GET|PUT|PATCH|POST)\b|details\.|/[a-z]")
"""What an agent, which has tools, can do nothing with."""


@pytest.mark.proves("ERR-shape", "ERR-branch", "ERROR-all", "ERROR-error", "ERROR-message")
@pytest.mark.proves("ERROR-fix", "ERROR-docs_url", "ERROR-details")
@pytest.mark.proves("ERR-missing_api_key", "ERR-invalid_api_key", "ERR-forbidden")
@pytest.mark.proves("ERR-ticker_not_tracked", "ERR-bad_request", "ERR-invalid_symbol")
@pytest.mark.proves("ERR-unknown_symbol", "ERR-ticker_cap_exceeded", "ERR-unknown_family")
@pytest.mark.proves("ERR-setup_not_found", "ERR-chart_unavailable", "ERR-not_a_demo_symbol")
@pytest.mark.parametrize("code", [code for code in CODES if code != "rate_limited"])
def test_a_route_answers_each_code_in_the_one_shape(market: Market, code: str) -> None:
    case, live = CASES[code], market.service
    key = key_for(code, live, f"{code}@routes.example")

    answer = live.request(case.method, case.path, key=key, json=case.body)

    assert FIXES[code] in check_error(answer, code)["fix"]


@pytest.mark.proves("ERR-mcp", "ERR-branch", "MCP-errors")
@pytest.mark.proves("ERR-invalid_api_key", "ERR-forbidden", "ERR-ticker_not_tracked")
@pytest.mark.proves("ERR-bad_request", "ERR-invalid_symbol", "ERR-unknown_symbol")
@pytest.mark.proves("ERR-ticker_cap_exceeded", "ERR-unknown_family", "ERR-setup_not_found")
@pytest.mark.proves("ERR-chart_unavailable", "ERR-not_a_demo_symbol")
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("code", [c for c in CODES if c not in ("rate_limited", "missing_api_key")])
async def test_a_tool_answers_each_code_as_a_tool_error_that_ends_with_the_fix(
    market: Market, code: str, era: str
) -> None:
    case, live = CASES[code], market.service
    key = key_for(code, live, f"{code}@{era}.example")

    async with connected(live.mcp_url, key, era) as client:
        result = await call(client, case.tool, **case.arguments)

    assert result.is_error
    assert texts(result)[0].startswith(f"{code}: ")
    assert TOOL_FIXES[code] in texts(result)[0]
    assert not ROUTE_WORDS.search(texts(result)[0])
    route = live.request(case.method, case.path, key=key, json=case.body)
    for value in route.json().get("details", {}).values():
        named = value if isinstance(value, list) else [] if value is True else [value]
        assert all(str(part) in texts(result)[0] for part in named)


@pytest.mark.proves("ERR-missing_api_key", "ERR-mcp", "MCP-errors")
async def test_a_keyed_tool_without_a_key_is_missing_api_key_where_no_sign_in_is_asked_for(
    service: Service,
) -> None:
    async with connected(f"{service.mcp_url}/demo") as client:
        result = await call(client, "list_tracked_tickers")
    refused = httpx.post(service.mcp_url, json={})

    assert result.is_error
    assert texts(result)[0].startswith("missing_api_key: ")
    check_error(refused, "missing_api_key")


@pytest.mark.proves("ERR-rate_limited", "ERR-mcp", "ERROR-details", "LIM-mcp", "MCP-errors")
async def test_rate_limited_names_the_wait_on_both_surfaces(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with serving(tmp_path_factory.mktemp("small"), key_per_minute=1) as live:
        live.get("/tickers").raise_for_status()
        body = check_error(live.get("/tickers"), "rate_limited")
        async with connected(live.mcp_url, live.key) as client:
            result = await call(client, "list_tracked_tickers")

    assert 1 <= body["details"]["retry_after_seconds"] <= 60
    assert FIXES["rate_limited"] in body["fix"]
    assert result.is_error
    text = texts(result)[0]
    assert text.startswith("rate_limited: ")
    assert re.search(r"Wait \d+ s, retry once, then back off\.$", text)


@pytest.mark.proves("ERROR-all", "ERR-shape")
@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/v1/nothing", 404),
        ("GET", "/nothing", 404),
        ("DELETE", "/api/v1/tickers", 405),
        ("POST", "/api/v1/scan", 405),
        ("POST", "/llms.txt", 405),
        ("GET", "/mcp", 405),
    ],
)
def test_what_no_route_answers_has_the_same_shape(
    service: Service, method: str, path: str, status: int
) -> None:
    answer = httpx.request(method, service.url + path)

    code = {404: "not_found", 405: "method_not_allowed"}[status]
    check_error(answer, code)


@pytest.mark.proves("ERROR-docs_url")
def test_the_address_of_the_docs_can_be_read(service: Service) -> None:
    url = service.get("/nothing").json()["docs_url"]

    assert httpx.get(url).status_code == 200


def test_of_several_faults_the_first_in_the_fixed_order_is_answered(service: Service) -> None:
    free = new_key(service.settings, "order@example.com", Plan.NONE, ())
    path = "/tickers/FB/history?limit=x"

    check_error(service.get(path, key=""), "missing_api_key")
    check_error(service.get(path, key=free), "forbidden")
    check_error(service.get(path), "bad_request")
    check_error(service.get("/tickers/FB/chart.png?setup_id=x"), "ticker_not_tracked")

"""The thirteen error codes: each on every surface that lists it, in one shape."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from mcp_server.calls.errors import CATALOGUE, ApiError
from mcp_server.mcp.toolsets import EXTENDED, FULL, Toolset
from screener.settings.settings import Settings
from store.accounts.accounts import AccountPlan
from store.wire.families import Family
from tests.agent import ERAS, call, connected, texts
from tests.contract.cases import MALFORMED, REFUSED
from tests.contract.codes import CODES, check_error
from tests.contract.market import Market
from tests.service import Service, new_key

DETAILS: dict[str, dict[str, Any]] = {
    "invalid_symbol": {"rejected": ["A-B", "é", ""]},
    "unknown_symbol": {"unknown": ["NOPE", "NADA"]},
    "ticker_cap_exceeded": {"cap": 200},
    "unknown_family": {"allowed": list(Family)},
    "not_a_demo_symbol": {"demo_symbols": list(Settings.model_fields["demo_symbols"].default)},
}
"""The details of what is refused in the table of cases."""

ROUTE_WORDS = re.compile(r"\b(GET|PUT|PATCH|POST)\b|details\.|/[a-z]")
"""What an agent, which has tools, can do nothing with."""


@pytest.mark.proves("ERR-branch", "VER-2", "ERROR-error")
def test_the_codes_of_the_contract_are_these_thirteen_with_these_statuses() -> None:
    assert {code: CATALOGUE[code].status for code in CODES} == {
        code: status for code, (status, *_) in CODES.items()
    }
    assert {case.code for case in REFUSED} | {
        *("missing_api_key", "invalid_api_key", "forbidden", "rate_limited")
    } == set(CODES)


@pytest.mark.proves("ERR-shape", "ERR-branch", "ERR-mcp", "MCP-errors", "ERROR-all")
@pytest.mark.proves("ERROR-error", "ERROR-message", "ERROR-fix", "ERROR-docs_url", "ERROR-details")
@pytest.mark.proves("ERR-ticker_not_tracked", "ERR-bad_request", "ERR-invalid_symbol")
@pytest.mark.proves("ERR-unknown_symbol", "ERR-ticker_cap_exceeded", "ERR-unknown_family")
@pytest.mark.proves("ERR-setup_not_found", "ERR-chart_unavailable", "ERR-not_a_demo_symbol")
@pytest.mark.proves("PAT-errors-chart", "PAT-errors-caller", "PAT-chart", "RULE-3-tracked")
@pytest.mark.proves("TICK-put-known", "TICK-patch-known", "TICK-errors-symbols", "TICK-put")
@pytest.mark.proves("FAM-unknown", "DEMO-unknown", "LIM-cap", "PAT-errors-parameters")
@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("toolset", [FULL, EXTENDED], ids=["full", "extended"])
async def test_a_call_is_refused_with_its_code_by_its_route_and_its_tool_and_changes_nothing(
    market: Market, toolset: Toolset, era: str, subtests: pytest.Subtests
) -> None:
    live = market.service
    key = new_key(live.settings, f"{era}{toolset.path}@refused.example", tracked=("M1",))
    async with connected(live.mcp_url + toolset.path, key, era) as client:
        for case in REFUSED:
            if case.tool not in toolset.tools:
                continue
            with subtests.test(case=str(case)[:200]):
                body = check_fix(case.request(live, key), case.code)
                details = body.get("details", {})
                assert details == DETAILS.get(case.code, details)
                check_tool(await call(client, case.tool, **case.arguments), case.code, details)
                if case.code == "ticker_not_tracked":
                    for words in ("PUT or PATCH /tickers", "set_tracked_tickers"):
                        assert words in body["fix"]
    assert live.tracked(key) == ["M1"]


def check_fix(answer: httpx.Response, code: str) -> dict[str, Any]:
    body = check_error(answer, code)
    assert CODES[code][1] in body["fix"]
    return body


def check_tool(result: Any, code: str, details: dict[str, Any]) -> None:
    text = texts(result)[0]
    assert result.is_error
    assert text.startswith(f"{code}: ")
    assert CODES[code][2] in text
    assert not ROUTE_WORDS.search(text)
    for value in details.values():
        named = value if isinstance(value, list) else [] if value is True else [value]
        assert all(str(part) in text for part in named)


@pytest.mark.proves("ERR-bad_request", "PAT-errors-parameters", "PAT-history-limit")
@pytest.mark.proves("PAT-history-outcome", "SCAN-family", "SCAN-direction", "SCAN-status")
@pytest.mark.proves("SCAN-max_distance_pct", "SCAN-limit", "SCAN-offset")
@pytest.mark.proves("STATE-scan")
async def test_an_argument_that_is_not_allowed_is_refused_by_its_name(
    market: Market, subtests: pytest.Subtests
) -> None:
    live = market.service
    key = new_key(live.settings, "malformed@refused.example", tracked=("M1",))
    async with connected(live.extended_url, key) as client:
        for case, name in MALFORMED:
            with subtests.test(case=str(case)[:200]):
                body = check_fix(case.request(live, key), "bad_request")
                result = await call(client, case.tool, **case.arguments)
                assert body["message"].startswith(f"{name} must be ")
                assert texts(result)[0].startswith(f"bad_request: {name} must be ")


@pytest.mark.proves("ERR-mcp", "MCP-errors")
@pytest.mark.parametrize("code", ["missing_api_key", "invalid_api_key", "forbidden"])
def test_an_agent_that_may_not_call_is_told_what_to_do_without_a_route(code: str) -> None:
    """That such a call is refused on both surfaces: `test_auth.py` and `test_parity.py`."""
    assert CODES[code][1] in ApiError(code).body("")["fix"]
    assert CODES[code][2] in ApiError(code).text()
    assert not ROUTE_WORDS.search(ApiError(code).text())


@pytest.mark.proves("ERROR-all", "ERR-shape", "ERROR-docs_url")
@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("GET", "/api/v1/nothing", set()),
        ("GET", "/api/v1/tickers/MSFT/nothing", set()),
        ("GET", "/nothing", set()),
        ("DELETE", "/api/v1/tickers", {"GET", "HEAD", "PUT", "PATCH"}),
        ("POST", "/api/v1/scan", {"GET", "HEAD"}),
        ("GET", "/api/v1/tickers/import", {"POST"}),
        ("POST", "/api/v1/tickers/export", {"GET", "HEAD"}),
        ("POST", "/llms.txt", {"GET", "HEAD"}),
        ("GET", "/mcp", {"POST"}),
    ],
)
def test_what_no_route_answers_has_the_same_shape(
    service: Service, method: str, path: str, allowed: set[str]
) -> None:
    answer = httpx.request(method, service.url + path)

    body = check_error(answer, "method_not_allowed" if allowed else "not_found")
    assert set(re.findall(r"\w+", answer.headers.get("allow", ""))) == allowed
    assert httpx.get(body["docs_url"]).status_code == 200


def test_of_several_faults_the_first_in_the_fixed_order_is_answered(service: Service) -> None:
    free = new_key(service.settings, "order@example.com", AccountPlan.NONE, ())
    path = "/tickers/FB/history?limit=x"

    check_error(service.get(path, key=""), "missing_api_key")
    check_error(service.get(path, key=free), "forbidden")
    check_error(service.get(path), "bad_request")
    check_error(service.get("/tickers/FB/chart.png?setup_id=x"), "ticker_not_tracked")
    check_error(service.get("/tickers/*/patterns"), "ticker_not_tracked")

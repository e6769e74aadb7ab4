"""The limits: how often a key and an address may call, and how each surface states the wait.

All tests share one service. Each has an account and an address of loopback of its own.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from screener.service.app import BASE
from screener.settings.settings import Settings
from tests.agent import message
from tests.contract.cases import KEYED, KEYLESS
from tests.service import Service, copy_night, new_key, serving

PER_KEY, PER_ADDRESS, OTHER = 4, 2, 4
NUMBERS = itertools.count(1)
CHART = "/demo/AAPL/chart.png?setup_id=x"
JSON_TYPE = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def live(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with small quotas."""
    folder = tmp_path_factory.mktemp("limited")
    copy_night(night, folder)
    with serving(
        folder,
        key_per_minute=PER_KEY,
        account_multiple=2,
        keyless_per_minute=PER_ADDRESS,
        other_per_minute=OTHER,
    ) as live:
        yield live


@pytest.fixture
def visitor(live: Service) -> Iterator[httpx.Client]:
    """Somebody from an address that nobody else has."""
    transport = httpx.HTTPTransport(local_address=f"127.0.1.{next(NUMBERS)}")
    with httpx.Client(transport=transport, base_url=live.url, timeout=30) as client:
        yield client


@pytest.fixture
def key(live: Service) -> str:
    """A key of an account of its own."""
    return new_key(live.settings, f"reader{next(NUMBERS)}@example.com")


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def check_limited(answer: httpx.Response, within: int = 60) -> None:
    body = answer.json()
    assert (answer.status_code, body["error"]) == (429, "rate_limited")
    wait = body["details"]["retry_after_seconds"]
    assert 1 <= wait <= within
    assert answer.headers["retry-after"] == str(wait)
    assert "retry once, then back off" in body["fix"]


def check_tool(answer: httpx.Response, words: str = "") -> None:
    """That a tool was called or, with words of the refusal, that the call was limited."""
    result: dict[str, Any] = answer.json()["result"]
    assert result["isError"] is bool(words), result
    if words:
        text = result["content"][0]["text"]
        assert text.startswith(f"rate_limited: {words}")
        assert re.search(r" Wait \d+ s, retry once, then back off\.$", text)


@pytest.mark.proves("LIM-key", "ERR-rate_limited", "ME-limits.requests_per_minute", "LIM-mcp")
@pytest.mark.proves("ERR-mcp", "ERROR-details", "MCP-errors")
def test_a_key_has_60_calls_a_minute_over_both_surfaces(
    live: Service, visitor: httpx.Client, key: str
) -> None:
    assert Settings.model_fields["key_per_minute"].default == 60
    tool = message("tools/call", name="list_tracked_tickers")
    for _ in range(PER_KEY // 2):
        assert live.get("/me", key=key).status_code == 200
        check_tool(httpx.post(live.mcp_url, json=tool, headers=bearer(key)))

    check_limited(live.get("/me", key=key))
    refused = httpx.post(live.mcp_url, json=tool, headers=bearer(key))
    check_tool(refused, f"More than {PER_KEY} calls in 60 s")
    assert visitor.get(f"{BASE}/families").status_code == 200


@pytest.mark.proves("LIM-key", "ERR-rate_limited")
def test_the_calls_of_a_day_are_not_forgotten_by_a_restart(data_dir: Path) -> None:
    assert Settings.model_fields["key_per_day"].default == 10_000
    with serving(data_dir, key_per_day=3) as live:
        for path in ("/me", "/scan"):
            assert live.get(path).status_code == 200
    with serving(data_dir, email="another@example.com", key_per_day=3) as again:
        assert again.get("/tickers", key=live.key).status_code == 200

        check_limited(again.get("/me", key=live.key), within=86_400)
        assert again.get("/me").status_code == 200


@pytest.mark.proves("LIM-keyless", "ERR-rate_limited", "DEMO-limit")
def test_an_address_without_a_key_has_30_calls_a_minute_on_each_surface(
    visitor: httpx.Client, live: Service
) -> None:
    assert Settings.model_fields["keyless_per_minute"].default == 30
    tool = message("tools/call", name="get_family_track_record")
    for _ in range(PER_ADDRESS):
        assert visitor.get(f"{BASE}/demo").status_code == 200
    for path in ("/demo", "/demo/AAPL"):
        check_limited(visitor.get(BASE + path))
    for _ in range(PER_ADDRESS):
        check_tool(visitor.post("/mcp/demo", json=tool))
    check_tool(visitor.post("/mcp/demo", json=tool), f"More than {PER_ADDRESS} calls in 60 s")
    assert live.get("/demo").status_code == 200


@pytest.mark.proves("GETME-errors", "SCAN-errors", "TICK-errors-caller", "PAT-errors-caller")
@pytest.mark.proves("AUTH-3-counts")
@pytest.mark.parametrize(("method", "path"), [*KEYED, ("GET", "/families")])
def test_every_route_is_limited_for_a_key(live: Service, key: str, method: str, path: str) -> None:
    for _ in range(PER_KEY):
        live.get("/me", key=key).raise_for_status()

    check_limited(live.request(method, path, key=key))


@pytest.mark.proves("DOC-errors", "DEMO-limit", "DEMO-chart-errors", "LIM-keyless")
@pytest.mark.parametrize("path", ["/llms.txt", *(BASE + path for path in (*KEYLESS, CHART))])
def test_every_keyless_route_is_limited(visitor: httpx.Client, path: str) -> None:
    for _ in range(PER_ADDRESS):
        visitor.get(f"{BASE}/demo").raise_for_status()

    check_limited(visitor.get(path))


def test_an_account_sees_its_own_quota(service: Service) -> None:
    limits = service.get("/me").json()["limits"]

    for window in ("minute", "day"):
        own, whole = limits[f"requests_per_{window}"], limits[f"account_requests_per_{window}"]
        assert whole == service.settings.account_multiple * own


def test_calls_with_a_bad_credential_or_none_count_for_their_address(
    live: Service, visitor: httpx.Client, key: str
) -> None:
    me = f"{BASE}/me"
    answers = [visitor.get(me, headers=bearer(bad)) for bad in ("ps_live_no", "x")]
    answers += [visitor.get(me) for _ in range(OTHER - 2)]
    codes = [answer.json()["error"] for answer in answers]
    assert codes == ["invalid_api_key"] * 2 + ["missing_api_key"] * 2

    check_limited(visitor.get(me, headers=bearer("ps_live_other")))
    check_limited(visitor.post("/mcp", json={}))
    assert visitor.get(me, headers=bearer(key)).status_code == 200
    assert visitor.get(f"{BASE}/families").status_code == 200


@pytest.mark.proves("LIM-mcp")
@pytest.mark.parametrize("path", ["/mcp", "/mcp/demo"])
def test_lists_of_agents_count_beside_their_calls(
    visitor: httpx.Client, key: str, path: str
) -> None:
    headers = bearer(key) if path == "/mcp" else {}

    def ask(method: str, **params: object) -> httpx.Response:
        return visitor.post(path, json=message(method, **params), headers=headers)

    for method in ("tools/list", "ping", "nonsense", "tools/list"):
        assert ask(method).status_code == 200
    check_limited(ask("tools/list"))
    check_limited(ask("tools/call", name="no such tool"))
    check_limited(visitor.post(path, content=b"no JSON", headers=JSON_TYPE | headers))

    # A limited call stays a tool error.
    for _ in range(PER_KEY if headers else PER_ADDRESS):
        check_tool(ask("tools/call", name="get_family_track_record"))
    check_tool(ask("tools/call", name="get_family_track_record"), "More than")


@pytest.mark.parametrize("envelope", [{"id": None}, {"id": [1]}, {"id": 1, "jsonrpc": "1.0"}])
@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
def test_a_call_that_is_no_request_counts_too(
    visitor: httpx.Client, envelope: dict[str, object], era: str
) -> None:
    body = message("tools/call", name="demo", arguments={"symbol": "MSFT"}) | envelope

    def send() -> httpx.Response:
        return visitor.post("/mcp/demo", json=body, headers={"MCP-Protocol-Version": era})

    assert [send().status_code for _ in range(OTHER)] == [400] * OTHER
    check_limited(send())


def test_whoever_may_not_ask_so_often_still_learns_where_to_sign_in(visitor: httpx.Client) -> None:
    answers = [visitor.post("/mcp", json={}) for _ in range(OTHER + 1)]

    assert [answer.status_code for answer in answers] == [401] * OTHER + [429]
    assert len({answer.headers["www-authenticate"] for answer in answers}) == 1


def test_pages_count_for_their_address(visitor: httpx.Client) -> None:
    codes = [visitor.get("/keys").status_code for _ in range(OTHER + 1)]
    refused = visitor.get("/")

    assert codes == [303] * OTHER + [429]
    assert int(refused.headers["retry-after"]) > 0


def test_guesses_of_codes_count_for_their_address(visitor: httpx.Client) -> None:
    app = {"redirect_uris": ["http://127.0.0.1/"]}
    client_id = visitor.post("/oauth/register", json=app).json()["client_id"]
    form = {"grant_type": "authorization_code", "code": "x", "code_verifier": "v" * 43}
    form |= {"client_id": client_id}
    answers = [visitor.post("/oauth/token", data=form) for _ in range(OTHER + 1)]

    assert [answer.status_code for answer in answers] == [400] * OTHER + [429]
    assert answers[-1].json() == {"error": "rate_limited"}
    assert int(answers[-1].headers["retry-after"]) > 0


NOWHERE = (
    *(("GET", "/api/v1/nowhere"), ("DELETE", "/api/v1/scan"), ("POST", "/llms.txt")),
    *(("GET", "/nowhere"), ("PUT", "/"), ("GET", "/mcp"), ("DELETE", "/mcp/demo")),
)


@pytest.mark.parametrize(("method", "path"), NOWHERE)
def test_what_is_nowhere_is_counted_for_the_address_whatever_key_comes_along(
    visitor: httpx.Client, key: str, method: str, path: str
) -> None:
    credentials = [bearer(key) if n % 2 else {} for n in range(OTHER + 1)]
    answers = [visitor.request(method, path, headers=each) for each in credentials]

    assert {answer.status_code for answer in answers[:OTHER]} <= {404, 405}
    check_limited(answers[OTHER])
    assert visitor.get(f"{BASE}/me", headers=bearer(key)).status_code == 200
    assert visitor.get(f"{BASE}/families").status_code == 200


def test_a_person_who_asks_for_too_much_that_is_nowhere_reads_when_to_come_back(
    visitor: httpx.Client,
) -> None:
    pages = [visitor.get("/nowhere", headers={"Accept": "text/html"}) for _ in range(OTHER + 1)]

    assert [page.status_code for page in pages] == [404] * OTHER + [429]
    assert f"More than {OTHER} requests in 60 s from one address; wait" in pages[-1].text
    assert int(pages[-1].headers["retry-after"]) >= 1

"""The limits: how often a key and an address may call, and how a refusal states the wait."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from starlette.responses import Response

from oauth.metadata import resources_of
from rest_facade.facade import Facade
from screener.app import BASE, services_of
from screener.databases import database_of
from screener.front import Front
from screener.settings import Settings
from store.accounts import utc_now
from tests.agent import call, connected, texts
from tests.service import Service, serving


def default(name: str) -> int:
    """The default of a limit in the settings."""
    value: int = Settings.model_fields[name].default
    return value


def new_secret(live: Service, name: str) -> str:
    """The secret of another key of the service's account."""
    _, secret = live.keys(lambda keys: keys.create("reader@example.com", name))
    return secret


def check_limited(answer: httpx.Response, within: int = 60) -> None:
    body = answer.json()
    assert (answer.status_code, body["error"]) == (429, "rate_limited")
    wait = body["details"]["retry_after_seconds"]
    assert 1 <= wait <= within
    assert answer.headers["retry-after"] == str(wait)


@pytest.mark.proves("LIM-key", "ERR-rate_limited", "ME-limits.requests_per_minute")
async def test_a_key_has_60_calls_a_minute_over_both_surfaces(data_dir: Path) -> None:
    with serving(data_dir, key_per_minute=default("key_per_minute")) as live:
        with httpx.Client(headers={"Authorization": f"Bearer {live.key}"}) as client:
            for _ in range(30):
                assert client.get(f"{live.base}/me").status_code == 200
        async with connected(live.mcp_url, live.key) as agent:
            await agent.list_tools()
            for _ in range(30):
                assert not (await call(agent, "list_tracked_tickers")).is_error
            refused = await call(agent, "list_tracked_tickers")

        check_limited(live.get("/me"))
        assert live.get("/families", key="").status_code == 200
    assert texts(refused)[0].startswith("rate_limited: More than 60 calls in 60 s")


@pytest.mark.proves("LIM-key", "ERR-rate_limited")
def test_a_key_is_refused_over_its_day_until_midnight(data_dir: Path) -> None:
    assert default("key_per_day") == 10_000
    with serving(data_dir, key_per_day=3) as live:
        for path in ("/me", "/scan", "/tickers"):
            assert live.get(path).status_code == 200
        check_limited(live.get("/me"), within=86_400)


@pytest.mark.proves("LIM-keyless", "ERR-rate_limited", "DEMO-limit")
async def test_an_address_without_a_key_has_30_calls_a_minute_on_each_surface(
    data_dir: Path,
) -> None:
    with serving(data_dir, keyless_per_minute=default("keyless_per_minute")) as live:
        with httpx.Client() as client:
            for _ in range(30):
                assert client.get(f"{live.base}/demo").status_code == 200
        check_limited(live.get("/demo", key=""))
        check_limited(live.get("/demo/AAPL", key=""))
        async with connected(f"{live.mcp_url}/demo") as agent:
            for _ in range(30):
                assert not (await call(agent, "get_family_track_record")).is_error
            refused = await call(agent, "demo", symbol="AAPL")
        assert live.get("/demo").status_code == 200
    assert texts(refused)[0].startswith("rate_limited: More than 30 calls in 60 s")


@pytest.fixture(scope="module")
def spent(night: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service whose key and whose keyless callers have used up their minute."""
    with serving(tmp_path_factory.mktemp("spent"), key_per_minute=1, keyless_per_minute=1) as live:
        live.get("/me").raise_for_status()
        live.get("/demo", key="").raise_for_status()
        yield live


@pytest.mark.proves("GETME-errors", "SCAN-errors", "TICK-errors-caller", "PAT-errors-caller")
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/me"),
        ("GET", "/scan"),
        ("GET", "/tickers"),
        ("PUT", "/tickers"),
        ("PATCH", "/tickers"),
        ("GET", "/tickers/AAPL/patterns"),
        ("GET", "/tickers/AAPL/history"),
        ("GET", "/tickers/AAPL/record"),
        ("GET", "/tickers/AAPL/chart.png?setup_id=x"),
    ],
)
def test_every_keyed_route_is_limited(spent: Service, method: str, path: str) -> None:
    check_limited(spent.request(method, path))


@pytest.mark.proves("DOC-errors", "DEMO-limit", "DEMO-chart-errors", "LIM-keyless")
@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/llms.txt",
        "/skill.md",
        "/openapi.json",
        "/families",
        "/families/triangle/stats",
        "/universe",
        "/demo",
        "/demo/AAPL",
        "/demo/AAPL/chart.png?setup_id=x",
    ],
)
def test_every_keyless_route_is_limited(spent: Service, path: str) -> None:
    check_limited(spent.get(path, key=""))


@pytest.mark.proves("DOC-errors")
def test_the_reference_on_the_host_root_is_limited_too(spent: Service) -> None:
    check_limited(httpx.get(f"{spent.url}/llms.txt"))


@pytest.mark.proves("AUTH-3-counts")
def test_a_spent_key_is_limited_on_keyless_routes(spent: Service) -> None:
    check_limited(spent.get("/families"))


@pytest.mark.proves("LIM-key")
def test_more_keys_of_an_account_buy_no_more_calls(data_dir: Path) -> None:
    with serving(data_dir, key_per_minute=4, account_multiple=2) as live:
        keys = [live.key, *(new_secret(live, name) for name in ("second", "third"))]
        for key in (keys[0], keys[1]):
            for _ in range(4):
                assert live.get("/me", key=key).status_code == 200

        check_limited(live.get("/me", key=keys[2]))
        assert live.get("/families", key="").status_code == 200


def test_an_account_sees_its_own_quota(service: Service) -> None:
    limits = service.get("/me").json()["limits"]

    for window in ("minute", "day"):
        own, whole = limits[f"requests_per_{window}"], limits[f"account_requests_per_{window}"]
        assert whole == default("account_multiple") * own


def test_calls_with_a_bad_credential_or_none_count_for_their_address(data_dir: Path) -> None:
    with serving(data_dir, other_per_minute=4) as live:
        codes = [live.get("/me", key=key).json()["error"] for key in ("", "ps_live_no", "x", "")]
        assert codes == ["missing_api_key", *["invalid_api_key"] * 2, "missing_api_key"]

        check_limited(live.get("/me", key="ps_live_other"))
        check_limited(httpx.post(live.mcp_url, json={}))
        assert live.get("/me").status_code == 200
        assert live.get("/families", key="").status_code == 200


@pytest.mark.proves("LIM-mcp")
@pytest.mark.parametrize("demo", [False, True])
def test_lists_of_agents_count_beside_their_calls(data_dir: Path, demo: bool) -> None:
    with serving(data_dir, other_per_minute=3, key_per_minute=1, keyless_per_minute=1) as live:
        address = f"{live.mcp_url}/demo" if demo else live.mcp_url
        headers = {} if demo else {"Authorization": f"Bearer {live.key}"}

        def ask(method: str, **params: object) -> httpx.Response:
            message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            return httpx.post(address, json=message, headers=headers)

        for method in ("tools/list", "ping", "nonsense"):
            assert ask(method).status_code == 200
        check_limited(ask("tools/list"))
        check_limited(ask("tools/call", name="no such tool"))
        check_limited(httpx.post(address, content=b"no JSON", headers=JSON_TYPE | headers))

        # A limited call stays a tool error.
        ends = [ask("tools/call", name="get_family_track_record").json() for _ in range(2)]
        assert [end["result"]["isError"] for end in ends] == [False, True]
        assert "rate_limited" in ends[1]["result"]["content"][0]["text"]


JSON_TYPE = {"Content-Type": "application/json"}


@pytest.mark.parametrize("envelope", [{"id": None}, {"id": [1]}, {"id": 1, "jsonrpc": "1.0"}])
@pytest.mark.parametrize("era", ["2025-11-25", "2026-07-28"])
def test_a_call_that_is_no_request_counts_too(
    data_dir: Path, envelope: dict[str, object], era: str
) -> None:
    with serving(data_dir, other_per_minute=3) as live:
        params = {"name": "demo", "arguments": {"symbol": "MSFT"}}
        message = {"jsonrpc": "2.0", "method": "tools/call", "params": params, **envelope}

        def send() -> httpx.Response:
            address, headers = f"{live.mcp_url}/demo", {"MCP-Protocol-Version": era}
            return httpx.post(address, json=message, headers=headers)

        assert [send().status_code for _ in range(3)] == [400] * 3
        check_limited(send())


def test_whoever_may_not_ask_so_often_still_learns_where_to_sign_in(data_dir: Path) -> None:
    with serving(data_dir, other_per_minute=1) as live:
        first, second = (httpx.post(live.mcp_url, json={}) for _ in range(2))

    assert (first.status_code, second.status_code) == (401, 429)
    assert first.headers["www-authenticate"] == second.headers["www-authenticate"]


def test_pages_count_for_their_address(data_dir: Path) -> None:
    with serving(data_dir, other_per_minute=2) as live:
        codes = [httpx.get(f"{live.url}/keys").status_code for _ in range(3)]
        refused = httpx.get(f"{live.url}/")

    assert codes == [303, 303, 429]
    assert int(refused.headers["retry-after"]) > 0


def test_guesses_of_codes_count_for_their_address(data_dir: Path) -> None:
    form = {"grant_type": "authorization_code", "code": "x", "code_verifier": "v" * 43}
    with serving(data_dir, other_per_minute=2) as live:
        app = {"redirect_uris": ["http://127.0.0.1/"]}
        client_id = httpx.post(f"{live.url}/oauth/register", json=app).json()["client_id"]
        answers = [
            httpx.post(f"{live.url}/oauth/token", data={**form, "client_id": client_id})
            for _ in range(3)
        ]

    assert [answer.status_code for answer in answers] == [400, 400, 429]
    assert answers[2].json() == {"error": "rate_limited"}
    assert int(answers[2].headers["retry-after"]) > 0


def test_the_calls_of_a_day_are_not_forgotten_by_a_restart(data_dir: Path) -> None:
    with serving(data_dir, key_per_day=3) as live:
        for _ in range(2):
            assert live.get("/me").status_code == 200
    with serving(data_dir, email="another@example.com", key_per_day=3) as again:
        assert again.get("/me", key=live.key).status_code == 200

        check_limited(again.get("/me", key=live.key), within=86_400)
        assert again.get("/me").status_code == 200


NOWHERE = (
    *(("GET", "/api/v1/nowhere"), ("DELETE", "/api/v1/scan"), ("POST", "/llms.txt")),
    *(("GET", "/nowhere"), ("PUT", "/"), ("GET", "/mcp"), ("DELETE", "/mcp/demo")),
)


@pytest.mark.parametrize(("method", "path"), NOWHERE)
def test_what_is_nowhere_is_counted_for_the_address_whatever_key_comes_along(
    data_dir: Path, method: str, path: str
) -> None:
    with serving(data_dir, other_per_minute=2) as live:
        keyed = {"Authorization": f"Bearer {live.key}"}
        answers = [
            httpx.request(method, live.url + path, headers=headers, timeout=30)
            for headers in (keyed, {}, keyed)
        ]

        assert {answer.status_code for answer in answers[:2]} <= {404, 405}
        check_limited(answers[2])
        assert live.get("/me").status_code == 200
        assert live.get("/families", key="").status_code == 200


def test_a_person_who_asks_for_too_much_that_is_nowhere_reads_when_to_come_back(
    data_dir: Path,
) -> None:
    with serving(data_dir, other_per_minute=1) as live:
        asked = {"Accept": "text/html"}
        pages = [httpx.get(f"{live.url}/nowhere", headers=asked, timeout=30) for _ in range(2)]

    assert [page.status_code for page in pages] == [404, 429]
    assert "More than 1 requests in 60 s from one address; wait" in pages[1].text
    assert int(pages[1].headers["retry-after"]) >= 1


def test_a_credential_is_looked_up_where_an_operation_is_and_nowhere_else(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path)
    services = services_of(settings, database_of(settings), None)
    facade = Facade(services, resources_of(services.offer)[0], BASE, utc_now)
    front = Front(facade, {"/mcp": Response()}, Response())

    def reads(method: str, path: str) -> bool:
        return front.reads_credentials({"type": "http", "method": method, "path": path})

    assert all(reads("GET", f"{BASE}{path}") for path in ("", "/", "/me", "/tickers/X/patterns/"))
    assert reads("HEAD", "/llms.txt")
    assert reads("PUT", f"{BASE}/tickers")
    assert reads("POST", "/mcp/")
    assert not any(reads(method, path) for method, path in NOWHERE)
    assert not reads("GET", "/keys")

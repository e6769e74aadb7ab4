"""The limits: how often a key and an address may call, and how a refusal states the wait."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from screener.settings import Settings
from tests.agent import call, connected, texts
from tests.service import Service, serving


def default(name: str) -> int:
    """The default of a limit in the settings."""
    value: int = Settings.model_fields[name].default
    return value


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

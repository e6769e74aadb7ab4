"""`/metrics`: what a service tells of its work, and what it never tells."""

from __future__ import annotations

import datetime as dt
import re
import socket
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from screener.settings.settings import Settings
from tests.agent import message
from tests.conftest import NIGHT_SESSION
from tests.screener.command import run_process
from tests.screener.process import free_port
from tests.screener.scraping import Measured
from tests.screener.scraping import service as service
from tests.service import new_key

TABLE = Path(__file__).parents[3] / "docs" / "monitoring.md"
CHOSEN = "chosenbythecaller"
JSON = {"content-type": "application/json", "accept": "application/json"}


@pytest.fixture(scope="module")
def secret(service: Measured) -> str:
    """The key of an account."""
    data = service.server.stdout.parent / "data"
    return new_key(Settings(data_dir=data), "measured@example.com")


def get(service: Measured, path: str, key: str = "") -> httpx.Response:
    headers = {"authorization": f"Bearer {key}"} if key else {}
    return httpx.get(service.server.url + path, headers=headers, timeout=60)


def post(service: Measured, path: str, body: dict[str, Any]) -> httpx.Response:
    return httpx.post(service.server.url + path, json=body, headers=JSON, timeout=60)


def test_a_call_is_counted_by_its_surface_operation_and_code(
    service: Measured, secret: str
) -> None:
    of_call = {"surface": "rest", "operation": "me"}

    assert get(service, "/api/v1/me").status_code == 401
    assert get(service, "/api/v1/me", secret).status_code == 200

    for code in ("missing_api_key", "ok"):
        service.until_least(1, "screener_requests_total", **of_call, code=code)
    service.until_least(2, "screener_request_duration_seconds_count", **of_call)


def test_a_tool_is_counted_as_its_operation_and_a_list_as_its_method(service: Measured) -> None:
    call: dict[str, Any] = {"name": "demo", "arguments": {"symbol": "MSFT"}}
    for method, params in (("tools/list", {}), ("tools/call", call)):
        assert post(service, "/mcp/demo", message(method, **params)).status_code == 200

    service.until(1, "screener_requests_total", surface="mcp", operation="demo", code="ok")
    service.until(1, "screener_requests_total", surface="mcp", operation="tools/list", code="200")


def test_a_page_is_counted_by_its_route(service: Measured) -> None:
    get(service, "/families/triangles")
    listed = "/server.json"
    metadata = (
        "/.well-known/oauth-authorization-server",
        "/.well-known/oauth-protected-resource/mcp",
    )
    for path in (listed, *metadata):
        get(service, path).raise_for_status()

    service.until(1, "screener_requests_total", surface="web", operation="/families/{family}")
    service.until(1, "screener_requests_total", surface="web", operation=listed)
    for path in metadata:
        service.until(1, "screener_requests_total", surface="oauth", operation=path)


def test_no_label_has_a_value_that_a_caller_chose(service: Measured) -> None:
    paths = (
        *(f"/{CHOSEN}", f"/symbol/{CHOSEN}", f"/mcp/{CHOSEN}", f"/oauth/{CHOSEN}"),
        *(f"/api/v1/{CHOSEN}", f"/api/v1/demo/{CHOSEN}", f"/health/{CHOSEN}?{CHOSEN}={CHOSEN}"),
    )
    for path in paths:
        get(service, path)
    httpx.request(CHOSEN.upper(), service.server.url + "/docs", timeout=60)
    httpx.request(CHOSEN.upper(), service.server.url + "/api/v1/me", timeout=60)
    for method in (CHOSEN, "tools/call", "resources/read"):
        params = {"name": CHOSEN, "arguments": {CHOSEN: CHOSEN}, "uri": f"ui://{CHOSEN}"}
        post(service, "/mcp/demo", message(method, **params))

    service.until_least(1, "screener_requests_total", surface="mcp", operation="other")
    assert CHOSEN not in service.text().lower()


def test_nothing_secret_is_exposed(service: Measured, secret: str) -> None:
    get(service, "/api/v1/me", secret)
    post(service, f"/mcp/demo?key={secret}", {})

    text = service.text()
    for word in (secret, secret[:12], "measured@example.com", "127.0.0.1", "MSFT"):
        assert word not in text


def test_look_ups_in_caches_are_counted_by_what_they_found(service: Measured, secret: str) -> None:
    def found(cache: str, result: str) -> float:
        return service.value("screener_cache_lookups_total", cache=cache, result=result)

    before = {cache: found(cache, "hit") for cache in ("answers", "principals")}
    for _ in range(3):
        get(service, "/api/v1/tickers/IBM/patterns", secret).raise_for_status()

    for cache, hits in before.items():
        service.until_least(hits + 2, "screener_cache_lookups_total", cache=cache, result="hit")
        assert found(cache, "miss") >= 1


def test_a_drawing_and_the_waits_for_the_database_are_timed(service: Measured) -> None:
    setups = get(service, "/api/v1/demo/MSFT").json()["setups"]
    chart = f"/api/v1/demo/MSFT/chart.png?setup_id={setups[0]['setup_id']}"
    for _ in range(2):
        get(service, chart).raise_for_status()

    service.until(1, "screener_drawing_duration_seconds_count")
    assert service.value("screener_drawings_waiting") == 0
    for step in ("connection", "statement"):
        assert service.value("screener_database_wait_seconds_count", step=step) > 0


def test_the_night_the_disk_and_the_build_are_told(service: Measured) -> None:
    session = dt.datetime.combine(NIGHT_SESSION, dt.time(), dt.UTC).timestamp()

    service.until(session, "screener_night_session_timestamp_seconds")
    assert service.value("screener_night_is_sample") == 1
    assert service.value("screener_night_sessions_behind") == 0
    assert 0 < service.value("screener_data_free_bytes") < service.value("screener_data_size_bytes")
    assert service.value("screener_build_info") == service.value("screener_workers") == 1
    address = f"Metrics: http://127.0.0.1:{service.port}/metrics"
    assert address in service.server.stderr.read_text()


def test_open_connections_are_counted_until_they_close(service: Measured) -> None:
    service.until(0, "screener_connections_open")
    with socket.create_connection(("127.0.0.1", service.server.port)):
        service.until(1, "screener_connections_open")
    service.until(0, "screener_connections_open")


def test_every_metric_is_in_the_table_of_the_documentation(service: Measured) -> None:
    exposed = set(re.findall(r"^# TYPE (screener_\w+) (\w+)", service.text(), re.MULTILINE))
    rows = re.findall(r"^\| `(screener_\w+)` \| (\w+) \|", TABLE.read_text(), re.MULTILINE)

    assert sorted(rows) == sorted(exposed)


def test_each_loop_is_told_before_it_fails(service: Measured) -> None:
    told = set(
        re.findall(r'^screener_loop_restarts_total{loop="(\w+)"} 0.0$', service.text(), re.M)
    )

    assert told == {"night", "usage", "expired", "changes", "health", "documents", "metrics"}


def test_a_busy_port_is_one_clear_line(data_dir: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        options = ("serve", "--port", str(free_port()))
        done = run_process(data_dir, *options, SCREENER_METRICS_PORT=str(port))

    assert done.returncode == 2
    assert f"/metrics cannot listen on 127.0.0.1:{port}" in done.stderr
    assert "SCREENER_METRICS_PORT" in done.stderr
    assert "Traceback" not in done.stderr


def test_clients_that_send_nothing_to_the_metrics_port_leave_room_for_others(
    service: Measured,
) -> None:
    with ExitStack() as stack:
        for _ in range(100):
            idle = stack.enter_context(socket.create_connection(("127.0.0.1", service.port), 10))
            idle.sendall(b"GET /metrics HTTP/1.1\r\n")

        assert service.value("process_open_fds") < 100


@pytest.mark.parametrize(("host", "status"), [("evil.example", 421), ("LOCALHOST", 200), ("", 400)])
def test_the_metrics_are_answered_under_names_that_no_stranger_has(
    service: Measured, host: str, status: int
) -> None:
    url = f"http://127.0.0.1:{service.port}/metrics"

    assert httpx.get(url, headers={"Host": host}, timeout=30).status_code == status

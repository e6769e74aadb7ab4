"""Traces: one span a request, sent to the collector that OpenTelemetry's variables name."""

from __future__ import annotations

import os
import queue
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from sqlalchemy.exc import IntegrityError

from screener.settings import Settings, SettingsError
from screener.tracing import traces_wanted
from telemetry.traces import ENDING, Traces, span
from tests.screener.command import run_process
from tests.screener.process import Server, serving_process
from tests.screener.scraping import free_port
from tests.service import copy_night, new_key

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
REQUEST = {"type": "http", "method": "GET", "scheme": "http", "headers": []}


@dataclass
class Span:
    """One span that a collector was sent."""

    name: str
    id: str
    trace: str
    parent: str
    kind: int
    attributes: dict[str, Any]


@dataclass
class Collector:
    """What came by OTLP over HTTP."""

    endpoint: str = ""
    bodies: list[bytes] = field(default_factory=list)
    resource: dict[str, Any] = field(default_factory=dict)
    spans: queue.Queue[Span] = field(default_factory=queue.Queue)

    def take(self, body: bytes) -> None:
        self.bodies.append(body)
        for of_resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            self.resource = plain(of_resource.resource.attributes)
            for of_scope in of_resource.scope_spans:
                for sent in of_scope.spans:
                    told = Span(
                        sent.name,
                        sent.span_id.hex(),
                        sent.trace_id.hex(),
                        sent.parent_span_id.hex(),
                        sent.kind,
                        plain(sent.attributes),
                    )
                    self.spans.put(told)

    def of(self, operation: str) -> tuple[Span, list[Span]]:
        """The next span of an operation, and those that came before it."""
        earlier: list[Span] = []
        while (one := self.spans.get(timeout=60)).attributes.get("screener.operation") != operation:
            earlier.append(one)
        return one, earlier


def plain(attributes: Any) -> dict[str, Any]:
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in attributes}


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector on loopback."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            collector.take(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
            """Nothing is logged."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        collector.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def traced(
    night: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Server, Collector, str]]:
    """A service with traces, its collector and a key."""
    folder = tmp_path_factory.mktemp("traced")
    copy_night(night, folder / "data")
    key = new_key(Settings(data_dir=folder / "data"))
    with (
        collecting() as collector,
        serving_process(
            folder,
            OTEL_EXPORTER_OTLP_ENDPOINT=collector.endpoint,
            OTEL_BSP_SCHEDULE_DELAY="100",
            SCREENER_CHARTS_WARM="false",
        ) as server,
    ):
        yield server, collector, key


def test_a_call_is_a_span_below_that_of_its_caller(traced: tuple[Server, Collector, str]) -> None:
    server, collector, key = traced
    headers = {"authorization": f"Bearer {key}", "traceparent": f"00-{TRACE}-{PARENT}-01"}
    answer = httpx.get(f"{server.url}/api/v1/me?secret=in-the-query", headers=headers, timeout=60)

    span, earlier = collector.of("me")
    assert (span.name, span.kind, span.trace, span.parent) == ("GET me", 2, TRACE, PARENT)
    assert span.attributes == {
        "http.request.method": "GET",
        "http.response.status_code": 200,
        "url.scheme": "http",
        "screener.surface": "rest",
        "screener.operation": "me",
        "screener.code": "ok",
        "screener.request_id": answer.headers["x-request-id"],
    }
    below = [one for one in earlier if one.trace == TRACE]
    assert {one.name for one in below} == {"database"}
    assert all(one.parent for one in below)


def test_a_page_is_named_by_its_route_and_a_drawing_is_a_span(
    traced: tuple[Server, Collector, str],
) -> None:
    server, collector, _ = traced
    demo = f"{server.url}/api/v1/demo/MSFT"
    first = httpx.get(demo, timeout=60).json()["setups"][0]["setup_id"]
    httpx.get(f"{demo}/chart.png?setup_id={first}", timeout=60).raise_for_status()
    httpx.get(f"{server.url}/families/flags", timeout=60)

    page, earlier = collector.of("/families/{family}")
    assert page.name == "GET /families/{family}"
    assert page.attributes["http.route"] == "/families/{family}"
    assert "drawing" in {one.name for one in earlier}


def test_neither_a_query_nor_a_path_nor_a_credential_is_sent(
    traced: tuple[Server, Collector, str],
) -> None:
    server, collector, key = traced
    headers = {"authorization": f"Bearer {key}", "cookie": "session=in-the-cookie"}
    for path in (f"/api/v1/tickers/{key}/patterns", f"/{key}", f"/docs?key={key}", "/status"):
        httpx.get(server.url + path, headers=headers, timeout=60)
    collector.of("/status")

    sent = b"".join(collector.bodies)
    for word in (key, key[12:], "in-the-query", "in-the-cookie", "authorization", "python-httpx"):
        assert word.encode() not in sent


async def test_of_an_error_its_class_alone_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    """PostgreSQL says in its message which value it refused."""

    async def app(*_: object) -> None:
        with span("database"):
            raise IntegrityError(
                "INSERT", None, Exception("DETAIL: Key (email)=(reader@example.com) exists.")
            )

    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint)
        traces = Traces("1")
        with pytest.raises(IntegrityError):
            await traces.around(app)(REQUEST, None, None)
        await traces.end()
        spans = [collector.spans.get(timeout=60) for _ in range(2)]

    assert [one.name for one in spans] == ["database", "GET other"]
    assert [one.attributes["error.type"] for one in spans] == ["IntegrityError"] * 2
    sent = b"".join(collector.bodies)
    assert b"reader@example.com" not in sent
    assert b"Traceback" not in sent


async def test_the_end_does_not_wait_for_a_collector_that_says_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def app(*_: object) -> None:
        """Answers nothing."""

    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv(
            "OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}"
        )
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1000000")
        monkeypatch.setattr("telemetry.traces.END_SECONDS", 0.1)
        traces = Traces("1")
        await traces.around(app)(REQUEST, None, None)
        await traces.end()

        assert ENDING in {thread.name for thread in threading.enumerate()}  # nobody waits for it


def test_the_resource_names_the_service_and_its_version(
    traced: tuple[Server, Collector, str],
) -> None:
    server, collector, _ = traced
    httpx.get(f"{server.url}/robots.txt", timeout=60)
    collector.of("/robots.txt")

    assert collector.resource["service.name"] == "pattern-screener"
    assert collector.resource["service.version"]


def test_a_collector_that_is_gone_or_says_nothing_harms_nobody(night: Path, tmp_path: Path) -> None:
    copy_night(night, tmp_path / "data")
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with (
            serving_process(
                tmp_path,
                OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{silent.getsockname()[1]}",
                OTEL_BSP_MAX_QUEUE_SIZE="16",
                OTEL_BSP_MAX_EXPORT_BATCH_SIZE="8",
                OTEL_BSP_SCHEDULE_DELAY="1",
                SCREENER_KEYLESS_PER_MINUTE="1000",
            ) as server,
            httpx.Client(timeout=60) as client,
        ):
            answers = [client.get(f"{server.url}/api/v1/demo/MSFT") for _ in range(100)]

    assert {answer.status_code for answer in answers} == {200}
    assert "Traceback" not in server.stderr.read_text()


def test_traces_without_what_sends_them_are_one_clear_line(tmp_path: Path) -> None:
    without = "import sys; sys.modules['opentelemetry.sdk'] = None"
    (tmp_path / "sitecustomize.py").write_text(without)
    done = run_process(
        tmp_path / "data",
        "serve",
        "--port",
        str(free_port()),
        OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:4318",
        PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
    )

    assert done.returncode == 2
    assert "pattern-screener[traces]" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"OTEL_SERVICE_NAME": "screener"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_SDK_DISABLED": "true"},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_TRACES_EXPORTER": "none"},
    ],
)
def test_traces_are_sent_only_where_the_variables_say_so(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert not traces_wanted()


@pytest.mark.parametrize("exporters", ["console,otlp", "console", "otlp,none", "OTLP"])
def test_an_exporter_that_there_is_not_is_refused(
    monkeypatch: pytest.MonkeyPatch, exporters: str
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", exporters)

    with pytest.raises(SettingsError, match="OTEL_TRACES_EXPORTER"):
        traces_wanted()


@pytest.mark.parametrize("exporters", ["", "otlp", " otlp, "])
def test_traces_are_sent_by_otlp_if_nothing_else_is_said(
    monkeypatch: pytest.MonkeyPatch, exporters: str
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4318")
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", exporters)

    assert traces_wanted()


def test_a_protocol_that_is_not_spoken_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://127.0.0.1:4317")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")

    with pytest.raises(SettingsError, match="http/protobuf"):
        traces_wanted()


def test_a_service_without_traces_does_not_load_opentelemetry(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from screener.app import build_app; "
        "from screener.settings import Settings; build_app(Settings(data_dir=Path(sys.argv[1]))); "
        "print([name for name in sys.modules if name.startswith('opentelemetry.sdk')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"

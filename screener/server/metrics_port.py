"""The metrics port: `/metrics` in the form of Prometheus, on a port of its own."""

from __future__ import annotations

import os
import socket
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import Thread

import uvicorn
from prometheus_client import (
    REGISTRY,
    CollectorRegistry,
    Metric,
    ProcessCollector,
    make_asgi_app,
)
from prometheus_client.metrics_core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_server.http.application import refuse_host
from mcp_server.http.requests import Origins
from screener.server.connection_limiter import ConnectionLimiter, ConnectionLimits
from screener.server.connections import Connection
from screener.server.listening import open_listener
from screener.service.parts import origins_of
from screener.settings.console import err
from screener.settings.settings import Settings, SettingsError

VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""By which prometheus_client, when a worker imports it, finds the folder of the files."""

SUMMED = frozenset({"process_resident_memory_bytes", "process_open_fds"})
"""What prometheus_client tells of a process, and several hold together."""

BOUNDS = ConnectionLimits(idle_seconds=60, unread_seconds=10, connections=32)
"""Bounds of the connections to this port, which take no place of the service's own."""

WORKER = ".worker"
"""The suffix of a file that has the number of a worker for its name."""


@contextmanager
def exposed(settings: Settings, registry: CollectorRegistry = REGISTRY) -> Iterator[None]:
    """Answer `/metrics` within the block, if the settings name a port for it.

    Raises:
        SettingsError: the address is taken or not this machine's.
    """
    host, port = settings.metrics_host, settings.metrics_port
    if port is None:
        yield
        return
    with _listening(host, port) as listener:
        shown = f"[{host}]" if ":" in host else host
        err.print(f"Metrics: http://{shown}:{port}/metrics")
        server = uvicorn.Server(_config(_page(registry, origins_of(settings))))
        thread = Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.should_exit = True
            thread.join(BOUNDS.head_seconds)


def _listening(host: str, port: int) -> socket.socket:
    try:
        return open_listener(host, port)
    except OSError as error:
        raise SettingsError(
            f"/metrics cannot listen on {host}:{port} ({error.strerror}); choose another with "
            "SCREENER_METRICS_PORT or SCREENER_METRICS_HOST."
        ) from error


def _page(registry: CollectorRegistry, origins: Origins) -> ASGIApp:
    """The page of a registry, under names that no stranger can have."""
    metrics: ASGIApp = make_asgi_app(registry)

    async def page(scope: Scope, receive: Receive, send: Send) -> None:
        await (refuse_host(scope, origins) or metrics)(scope, receive, send)

    return page


def _config(app: ASGIApp) -> uvicorn.Config:
    """How the page is served: in a thread, so without signals, and bounded as the service is."""
    return uvicorn.Config(
        app,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        lifespan="off",
        http=partial(Connection, ConnectionLimiter(BOUNDS, counted=False)),  # type: ignore[arg-type]
        ws="none",
        log_config=None,
        timeout_graceful_shutdown=1,
    )


def merged(folder: Path) -> CollectorRegistry:
    """A registry of what the workers, which are started from now on, count in a folder."""
    folder.mkdir()
    os.environ[VARIABLE] = str(folder)
    registry = CollectorRegistry()
    registry.register(WorkerMetrics(folder))
    return registry


def join_worker(folder: Path) -> None:
    """Say that this process is a worker that counts in a folder."""
    (folder / f"{os.getpid()}{WORKER}").touch()


class WorkerMetrics(Collector):
    """Adds up what workers count: what one that died has counted stays, what it held goes."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._merged = MultiProcessCollector(None, str(folder))  # type: ignore[no-untyped-call]

    def collect(self) -> Iterable[Metric]:
        """The metrics of all workers together."""
        living = [os.getpid()]
        for file in self._folder.glob(f"*{WORKER}"):
            if _is_alive(int(file.stem)):
                living.append(int(file.stem))
            else:
                mark_process_dead(int(file.stem), str(self._folder))  # type: ignore[no-untyped-call]
                file.unlink(missing_ok=True)
        counted: Iterable[Metric] = self._merged.collect()  # type: ignore[no-untyped-call]
        return [*counted, *_held_by(living)]


def _held_by(processes: Iterable[int]) -> Iterator[Metric]:
    """The memory and the open files of some processes together, as far as the system tells them."""
    held: defaultdict[tuple[str, str], float] = defaultdict(float)
    for process in processes:
        registry = CollectorRegistry()
        for metric in ProcessCollector(pid=partial(int, process), registry=registry).collect():
            if metric.name in SUMMED:
                held[metric.name, metric.documentation] += metric.samples[0].value
    for (name, words), total in held.items():
        yield GaugeMetricFamily(name, words, total)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, PermissionError):  # the number may be another user's by now
        return False
    return True

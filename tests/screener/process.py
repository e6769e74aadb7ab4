"""A server as a process of its own, with what it wrote."""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

import httpx
import psutil

from tests.screener.command import environment
from tests.zygote import start


@dataclass(frozen=True)
class Server:
    """A running `screener serve`, and the files of its standard streams."""

    port: int
    stdout: Path
    stderr: Path
    process: ForkServerProcess

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The number of its process."""
        assert self.process.pid is not None
        return self.process.pid

    def workers(self) -> set[int]:
        """The numbers of its worker processes."""
        return workers_of(self.pid)


def workers_of(parent: int) -> set[int]:
    """The numbers of the worker processes of a service."""
    found = set()
    for child in psutil.Process(parent).children():
        with suppress(psutil.NoSuchProcess):  # it has ended meanwhile
            if "spawn_main" in " ".join(child.cmdline()):
                found.add(child.pid)
    return found


def until(is_so: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for something, with an end."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not happen in time"
        threading.Event().wait(0.05)


def free_port() -> int:
    """A port on which nobody listens, below those that the system gives to connections: until the
    server listens, a connection of another test could take one of these.
    """
    while True:
        port = random.randrange(20_000, 32_000)  # noqa: S311 - no secret
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@contextmanager
def serving_process(
    folder: Path, *options: str, command: str = "serve", **settings: str
) -> Iterator[Server]:
    """Run `screener serve`, or `up`, on a data folder within the block."""
    port, stdout, stderr = free_port(), folder / "stdout.txt", folder / "stderr.txt"
    process = start(
        *(command, "--port", str(port), *options),
        environment=environment(folder / "data", **settings),
        stdout=stdout,
        stderr=stderr,
    )
    server = Server(port, stdout, stderr, process)
    try:
        transport = httpx.HTTPTransport(retries=8)  # until it listens
        with httpx.Client(transport=transport, timeout=60) as client:
            try:
                client.get(f"{server.url}/docs").raise_for_status()
            except httpx.ConnectError as error:
                raise AssertionError(server.stderr.read_text()) from error
        yield server
    finally:
        interrupt(process, stderr)


def interrupt(process: ForkServerProcess, stderr: Path) -> None:
    """End a process as Ctrl-C does; what does not end says where each of its threads is."""
    _send(process, signal.SIGINT)
    process.join(60)
    if process.exitcode is None:
        _send(process, signal.SIGABRT)
        process.join(5)
        raise AssertionError(f"The process did not end in time.\n{stderr.read_text()}")


def _send(process: ForkServerProcess, number: signal.Signals) -> None:
    if process.is_alive() and process.pid is not None:
        with suppress(ProcessLookupError):  # its end is told a moment after it is gone
            os.kill(process.pid, number)


LINE = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (DEBUG|INFO|WARNING|ERROR|CRITICAL) [a-z_.]+"
    r"( \[[0-9a-f]{16}\])?: .+"
)


READY = "/health/ready"


def ready(url: str) -> dict[str, Any]:
    """What a probe of readiness reads, with the status of HTTP."""
    answer = httpx.get(url + READY, timeout=30)
    return {"http": answer.status_code, **answer.json()}


def parts(url: str) -> set[str]:
    """The parts that are degraded, of a service that serves."""
    told = ready(url)
    assert told["http"] == 200
    assert told["status"] == ("degraded" if told["degraded"] else "ready")
    return {one["part"] for one in told["degraded"]}

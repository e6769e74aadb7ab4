"""A server as a process of its own, with what it wrote."""

from __future__ import annotations

import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from tests.screener.command import COMMAND, environment


@dataclass(frozen=True)
class Server:
    """A running `screener serve`, and the files of its standard streams."""

    port: int
    stdout: Path
    stderr: Path

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"


def until(is_so: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for something, with an end."""
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it did not happen in time"
        threading.Event().wait(0.05)


@contextmanager
def serving_process(folder: Path, *options: str, **settings: str) -> Iterator[Server]:
    """Run `screener serve` on a data folder within the block."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = Server(port, folder / "stdout.txt", folder / "stderr.txt")
    with server.stdout.open("w") as stdout, server.stderr.open("w") as stderr:
        process = subprocess.Popen(
            [*COMMAND, "serve", "--port", str(port), *options],
            env={**environment(folder / "data", **settings), "PYTHONUNBUFFERED": "1"},
            stdout=stdout,
            stderr=stderr,
        )
        try:
            transport = httpx.HTTPTransport(retries=8)  # until it listens
            with httpx.Client(transport=transport, timeout=60) as client:
                client.get(f"{server.url}/docs").raise_for_status()
            yield server
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=60)

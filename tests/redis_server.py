"""A Redis server for the tests, if its program is installed."""

from __future__ import annotations

import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest


class RedisServer:
    """A server of this test process alone, on a free loopback port; it keeps what it is told."""

    def __init__(self, folder: Path, program: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self.folder = folder
        self._program = program
        self._process: subprocess.Popen[str] | None = None

    def start(self, *options: str) -> None:
        """Start it with further options, and wait until it answers."""
        bound = ("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder))
        kept = ("--appendonly", "yes", "--appendfsync", "always", "--save", "")
        self._process = subprocess.Popen(
            [self._program, *bound, *kept, *options], stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        said = []
        for line in self._process.stdout:
            said.append(line)
            if "Ready to accept connections" in line:
                return
        raise AssertionError("".join(said))

    def stop(self) -> None:
        """Kill it, as a crash would, also while it hangs."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate(timeout=60)
            self._process = None

    def empty(self) -> None:
        """Delete what a stopped server has kept."""
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def pause(self) -> None:
        """Let it hang: its port accepts, and nothing answers."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let it hang within the block."""
        self.pause()
        try:
            yield
        finally:
            assert self._process is not None
            self._process.send_signal(signal.SIGCONT)


@contextmanager
def running_redis(*options: str) -> Iterator[RedisServer]:
    """A server that runs within the block; skips the test if its program is not installed."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("Redis is not installed")
    with TemporaryDirectory(prefix="redis-") as folder:
        server = RedisServer(Path(folder), program)
        server.start(*options)
        try:
            yield server
        finally:
            server.stop()


@pytest.fixture(scope="session")
def shared_redis() -> Iterator[RedisServer]:
    """A Redis server that the tests of this process share."""
    with running_redis() as server:
        yield server


@pytest.fixture
def redis_server() -> Iterator[RedisServer]:
    """A Redis server of one test, which may stop it."""
    with running_redis() as server:
        yield server

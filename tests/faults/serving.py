"""A service that can be killed and started again, as a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx

from benchmarks.serving.process import environment, family, free_port
from screener.settings import Settings
from tests.screener.command import COMMAND
from tests.service import Service, new_key

PATIENCE = 90.0
GENEROUS = {
    "key_per_minute": 100_000,
    "key_per_day": 10_000_000,
    "keyless_per_minute": 1_000_000,
    "other_per_minute": 1_000_000,
    "registrations_per_minute": 100_000,
    "sign_up": True,
    "client_metadata_documents": False,
}
"""Settings under which no limit hides what a fault does."""


class Serving:
    """`screener serve` on a data folder: always on the same port, so that clients find it again."""

    def __init__(
        self, folder: Path, more: Mapping[str, str] | None = None, **settings: object
    ) -> None:
        self.folder = folder
        self.port = free_port()
        beside = folder.parent.parent if folder.parent.is_mount() else folder.parent
        self.log = beside / f"{folder.name}.log"
        self._more = more or {}
        self.settings = {**GENEROUS, "charts_warm": False, **settings}
        self._process: subprocess.Popen[bytes] | None = None
        url = self.settings.get("database_url")
        self.chosen = Settings(
            data_dir=folder, port=self.port, database_url=str(url) if url else None
        )

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The number of its process."""
        assert self._process is not None
        return self._process.pid

    def live(self, key: str = "") -> Service:
        """The service as the tests' clients know it."""
        return Service(self.chosen, self.url, key)

    def key(self, email: str = "reader@example.com") -> str:
        """A key of a new account."""
        return new_key(self.chosen, email)

    def start(self) -> None:
        """Start it; who wants to know when it answers calls `ready`."""
        command = [*COMMAND, "serve", "--port", str(self.port)]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                env={**environment(data_dir=self.folder, **self.settings), **self._more},
                stdout=log,
                stderr=log,
            )

    def ready(self, path: str = "/api/v1/families") -> float:
        """Wait until it answers; returns the seconds that it took."""
        began = time.perf_counter()
        while not self.answers(path):
            if time.perf_counter() - began > PATIENCE or self.ended():
                raise RuntimeError(f"The service does not answer: {self.said()}")
            time.sleep(0.02)
        return time.perf_counter() - began

    def answers(self, path: str = "/api/v1/families", key: str = "") -> bool:
        """Whether a call is answered well."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        with suppress(httpx.HTTPError):
            return httpx.get(self.url + path, headers=headers, timeout=30).status_code == 200
        return False

    def ended(self) -> bool:
        """Whether the process has ended."""
        return self._process is None or self._process.poll() is not None

    def code(self, seconds: float = 30) -> int:
        """How it ended."""
        assert self._process is not None
        return self._process.wait(seconds)

    def said(self) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-2000:] if self.log.exists() else ""

    def family(self) -> list[int]:
        """Its processes."""
        return family(self.pid)

    def workers(self) -> list[int]:
        """The processes that answer, of several."""
        found = []
        for pid in self.family()[1:]:
            with suppress(OSError):
                if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(pid)
        return found

    def kill(self) -> None:
        """Kill it and what it started, as a power cut would."""
        for pid in self.family():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.code()

    def stop(self) -> None:
        """Stop it as an operator does."""
        assert self._process is not None
        if not self.ended():
            self._process.terminate()
            try:
                self._process.wait(60)
            except subprocess.TimeoutExpired:
                self.kill()


@contextmanager
def served(
    folder: Path, more: Mapping[str, str] | None = None, **settings: object
) -> Iterator[Serving]:
    """A service that answers, stopped at the end of the block."""
    serving = Serving(folder, more, **settings)
    serving.start()
    try:
        serving.ready()
        yield serving
    finally:
        serving.stop()

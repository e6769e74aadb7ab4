"""Processes: the servers under load, and their CPU time and memory."""

from __future__ import annotations

import http.client
import os
import re
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

PATIENCE = 60.0
"""Seconds that a server may take to answer its first request, or to become idle."""
LOOK = 0.02
"""Seconds between two samples of a server that should become idle."""


@dataclass(frozen=True)
class Memory:
    """Megabytes: the resident set of the largest process, and the sum of proportional shares."""

    rss: float
    pss: float


class Server:
    """One server process and its children, on its own port; stopped when the block ends."""

    def __init__(
        self, name: str, command: Sequence[str], port: int, env: Mapping[str, str], log: Path
    ) -> None:
        self.name = name
        self.port = port
        self._command = command
        self._env = env
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - a server of this benchmark
                self._command, env=dict(self._env), stdout=log, stderr=log
            )
        return self

    def __exit__(self, *_: object) -> None:
        process = self._running
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    @property
    def pid(self) -> int:
        """The id of the started process."""
        return self._running.pid

    @property
    def _running(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def wait(self, path: str, status: int = 200, key: str = "") -> None:
        """Wait until the server answers a request with a status (0: any status).

        Raises:
            RuntimeError: it ended or did not answer so; the message shows the end of its log.
        """
        until = time.perf_counter() + PATIENCE
        while not self._answers(path, status, key):
            if self._running.poll() is not None or time.perf_counter() > until:
                raise RuntimeError(
                    f"{self.name} does not answer {path} with {status}: "
                    f"{self._log.read_text()[-2000:]}"
                )
            time.sleep(0.005)

    def wait_open(self) -> None:
        """Wait until the server answers with any status."""
        self.wait("/", status=0)

    def _answers(self, path: str, status: int, key: str) -> bool:
        try:
            found = self.ask("GET", path, {"Authorization": f"Bearer {key}"})[0]
        except (OSError, http.client.HTTPException):
            return False
        return status in (0, found)

    def ask(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes = b""
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        """The status, header fields and body of one answer."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            connection.request(method, path, body or None, dict(headers))
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def cpu(self) -> float:
        """User and system seconds so far, to the nanosecond (clock_getcpuclockid(3))."""
        return sum(time.clock_gettime((~pid << 3) | 2) for pid in family(self.pid))

    def settled_cpu(self) -> float:
        """The same once the server is idle: it finishes requests even if their client is gone."""
        spent = self.cpu()
        for _ in range(int(PATIENCE / LOOK)):
            time.sleep(LOOK)
            before, spent = spent, self.cpu()
            if spent - before < LOOK / 10:
                break
        return spent

    def memory(self) -> Memory:
        """The current memory of all its processes."""
        # Both from one reading: a process may grow between two.
        maps = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in family(self.pid)]
        resident = max(_kilobytes(text, "Rss") for text in maps)
        share = sum(_kilobytes(text, "Pss") for text in maps)
        return Memory(resident / 1024, share / 1024)


def family(pid: int) -> list[int]:
    """A process and its living descendants."""
    found = [pid]
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(FileNotFoundError):  # a thread may end meanwhile
            for child in children.read_text().split():
                found += family(int(child))
    return found


def _kilobytes(text: str, field: str) -> int:
    found = re.search(rf"^{field}:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) if found else 0


def environment(**settings: object) -> dict[str, str]:
    """This process's environment, with some settings of the service replaced or added."""
    named = {f"SCREENER_{name.upper()}": str(value) for name, value in settings.items()}
    return {**os.environ, **named}

"""Programs of others that tests start: each listens on a port of this machine."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from benchmarks.serving.process import family
from tests.screener.process import until


class Program:
    """A program that listens on one port, and is killed with all that it started."""

    def __init__(
        self, command: Sequence[str], port: int, log: Path | None = None, **environment: str
    ) -> None:
        self._command, self._port, self._environment = command, port, environment
        self._log = log or Path(os.devnull)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it listens."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, env={**os.environ, **self._environment}, stdout=log, stderr=log
            )
        until(self._listens)

    def _listens(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self._command
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0

    def stop(self) -> None:
        """Kill it, as a power cut would."""
        if self._process is not None:
            for pid in family(self._process.pid):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            self._process.wait(20)

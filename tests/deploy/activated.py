"""A manager that opens the listening socket for the service, as systemd does (sd_listen_fds(3))."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.screener.command import COMMAND

LAUNCHER = """
import os, sys
{restriction}
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.argv[2], sys.argv[2:])
"""
"""What the manager does between fork and exec."""


class Manager:
    """Starts and stops `screener serve` on one socket, which stays open in between."""

    def __init__(
        self, settings: Mapping[str, str], *options: str, log: Path, restriction: str = ""
    ) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.notices = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notices.bind(str(log.with_suffix(".notices")))
        self.notices.settimeout(60)
        self._settings = {**os.environ, **settings, "NOTIFY_SOCKET": self.notices.getsockname()}
        self._options = options
        self._launcher = LAUNCHER.replace("{restriction}", restriction)
        self._log = log.open("w")
        self.server = self._start()

    @property
    def port(self) -> int:
        """The port of the socket."""
        return int(self.listener.getsockname()[1])

    def wait_until_serving(self) -> None:
        """Wait for the notice that the service serves."""
        assert self.notices.recv(100) == b"READY=1"

    def restart(self) -> int:
        """Stop the service and start another one when it has ended; the code of its end."""
        code = self.stop()
        self.server = self._start()
        return code

    def stop(self) -> int:
        """Stop the service as systemd does; the code of its end."""
        self.server.send_signal(signal.SIGTERM)
        return self.server.wait(timeout=60)

    def close(self) -> None:
        """End everything."""
        self.stop()
        self.listener.close()
        self.notices.close()
        self._log.close()

    def _start(self) -> subprocess.Popen[bytes]:
        descriptor = self.listener.fileno()
        launch = [sys.executable, "-c", self._launcher, str(descriptor)]
        return subprocess.Popen(
            [*launch, *COMMAND, "serve", *self._options],
            env=self._settings,
            pass_fds=[descriptor],
            stderr=self._log,
        )


@contextmanager
def managed(
    folder: Path, *options: str, restriction: str = "", **settings: str
) -> Iterator[Manager]:
    """A service on the data folder of a folder, on a socket that stays open within the block.

    A restriction is Python code that runs before it is started, where the manager sets limits.
    """
    chosen = {"SCREENER_DATA_DIR": str(folder / "data"), **settings}
    manager = Manager(chosen, *options, log=folder / "service.log", restriction=restriction)
    try:
        yield manager
    finally:
        manager.close()

"""Parts: what the servers share and what stands before them, as processes that can be killed."""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import obstore
from obstore.store import S3Store

from benchmarks.serving.process import family, free_port
from tests.deploy.proxies import HAPROXY, HAPROXY_FILE, PATH, replaced
from tests.postgres import OWNER, as_owner, postgres_bin

PATIENCE = 60.0
REDIS = shutil.which("redis-server", path=PATH)
BUCKET = "nights"


def missing() -> list[str]:
    """The programs that are not installed here."""
    found = {"postgresql": postgres_bin(), "redis-server": REDIS, "haproxy": HAPROXY}
    return [name for name, program in found.items() if program is None]


class Part(ABC):
    """A program as a process of its own, always on the same port."""

    name = ""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def command(self) -> Sequence[str]:
        """The program and its arguments."""

    def environment(self) -> Mapping[str, str]:
        """What it finds in its environment."""
        return os.environ

    @property
    def log(self) -> Path:
        """The file of what it says."""
        return self.folder / f"{self.name.replace(' ', '-')}.log"

    def start(self) -> None:
        """Start it, and wait until it listens."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*self.command()],
                env={**self.environment()},
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for us
            )
        self._wait()

    def _wait(self) -> None:
        end = time.monotonic() + PATIENCE
        while not self.listens():
            if self._process is not None and self._process.poll() is not None:
                self.start()  # what the killed one left was still in its way
            if time.monotonic() > end:
                raise RuntimeError(f"{self.name} does not listen: {self.said()}")
            time.sleep(0.02)

    def listens(self) -> bool:
        """Whether it takes connections."""
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def said(self) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-1500:] if self.log.exists() else ""

    def kill(self) -> None:
        """Kill it and what it started, as a power cut would."""
        self._signal(signal.SIGKILL)

    def stop(self) -> None:
        """Stop it."""
        self._signal(signal.SIGTERM)

    def _signal(self, number: int) -> None:
        process = self._process
        if process is None or process.poll() is not None:
            return
        for pid in family(process.pid) if number == signal.SIGKILL else [process.pid]:
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Postgres(Part):
    """The accounts."""

    name = "PostgreSQL"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        programs = postgres_bin()
        assert programs is not None
        self._programs = programs
        self._data = folder / "postgres"
        self._data.mkdir()
        if os.geteuid() == 0:
            folder.chmod(0o711)  # its own user must come through
            shutil.chown(self._data, OWNER)
        as_owner(
            *(str(programs / "initdb"), "-D", str(self._data), "-A", "trust", "-U", OWNER),
            "--no-sync",
        )

    @property
    def url(self) -> str:
        """Its address, as the setting has it."""
        return f"postgresql://{OWNER}@127.0.0.1:{self.port}/postgres"

    def command(self) -> Sequence[str]:
        """The server, under its own user where we are root (it refuses root)."""
        user = ["setpriv", f"--reuid={OWNER}", f"--regid={OWNER}", "--init-groups"]
        options = ["-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="]
        return [
            *(user if os.geteuid() == 0 else []),
            *(str(self._programs / "postgres"), "-D", str(self._data), "-p", str(self.port)),
            *options,
        ]

    def stop(self) -> None:
        """Stop it without waiting for its clients."""
        self._signal(signal.SIGINT)


class Redis(Part):
    """The counters of the limits, kept in an append-only file."""

    name = "Redis"

    @property
    def url(self) -> str:
        """Its address, as the setting has it."""
        return f"redis://127.0.0.1:{self.port}/0"

    def command(self) -> Sequence[str]:
        """The server."""
        place = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.folder)]
        return [str(REDIS), *place, "--appendonly", "yes", "--save", ""]

    def listens(self) -> bool:
        """Whether it answers: while it reads its file, it says that it is loading."""
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as one:
            one.sendall(b"PING\r\n")
            return one.recv(16).startswith(b"+PONG")
        return False


class ObjectStore(Part):
    """An S3 server. It keeps its objects in memory: before a kill they are read, and after it
    they are put back, as a disk would have kept them.
    """

    name = "object store"
    url = f"s3://{BUCKET}/screener"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._kept: dict[str, bytes] = {}

    @property
    def access(self) -> dict[str, str]:
        """How its clients reach it, as variables of their environment."""
        return {
            "AWS_ACCESS_KEY_ID": "topology",
            "AWS_SECRET_ACCESS_KEY": "topology",
            "AWS_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ALLOW_HTTP": "true",
        }

    def command(self) -> Sequence[str]:
        """The server."""
        return [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]

    def start(self) -> None:
        """Start it with the objects that it had."""
        super().start()
        self._create()
        for name, body in self._kept.items():
            obstore.put(self._bucket(), name, body)

    def kill(self) -> None:
        """Kill it, without its objects."""
        self._kept = {
            name: bytes(obstore.get(self._bucket(), name).bytes()) for name in self.names()
        }
        super().kill()

    def names(self) -> list[str]:
        """The names of all objects."""
        return [one["path"] for page in obstore.list(self._bucket()) for one in page]

    def _bucket(self) -> S3Store:
        return S3Store(
            BUCKET,
            endpoint=f"http://127.0.0.1:{self.port}",
            access_key_id="topology",
            secret_access_key="topology",
            region="us-east-1",
            client_options={"allow_http": True},
        )

    def _create(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request("PUT", f"/{BUCKET}", headers={"Host": f"127.0.0.1:{self.port}"})
        assert connection.getresponse().status in (200, 409)
        connection.close()


class Balancer(Part):
    """HAProxy with the shipped file, without TLS."""

    name = "balancer"

    def __init__(self, folder: Path, ports: Sequence[int]) -> None:
        super().__init__(folder)
        self._file = folder / "haproxy.cfg"
        self._file.write_text(configured(self.port, ports))

    @property
    def url(self) -> str:
        """The public address of the service."""
        return f"http://127.0.0.1:{self.port}"

    def command(self) -> Sequence[str]:
        """The balancer."""
        return [str(HAPROXY), "-db", "-f", str(self._file)]


def configured(port: int, servers: Sequence[int]) -> str:
    """The shipped file with the ports of a test."""
    one, two, three = servers
    changes = {
        "    stats socket /run/haproxy/admin.sock mode 600 level admin\n": "",
        "    bind :80\n": f"    bind 127.0.0.1:{port}\n",
        "    bind :443 ssl crt /etc/haproxy/screener.pem alpn h2,http/1.1\n": "",
        "    http-request redirect scheme https code 301 unless { ssl_fc }\n": "",
        "    http-request set-header X-Forwarded-Proto https\n": "",
        "10.0.0.11:8000": f"127.0.0.1:{one}",
        "10.0.0.12:8000": f"127.0.0.1:{two}",
        "10.0.0.13:8000": f"127.0.0.1:{three}",
    }
    return replaced(HAPROXY_FILE.read_text(), changes)

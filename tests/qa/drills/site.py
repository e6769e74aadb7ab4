"""The site: three servers without a shared disk behind a balancer, and all that they share."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import httpx
import obstore
from obstore.store import S3Store

from screener.settings.settings import load_settings
from tests.deploy.proxies import HAPROXY, HAPROXY_FILE, replaced
from tests.postgres import PostgresServer, fresh_database, postgres_bin, running_server
from tests.programs import Program
from tests.qa.drills.nights import SESSIONS, Nights
from tests.qa.drills.server import Place, Server
from tests.redis_server import RedisServer, running_redis
from tests.s3 import S3Server
from tests.screener.process import free_port, until
from tests.service import apart

SERVERS = 3
LOOK_SECONDS = 1.0
"""Between two looks of a server at the store of nights."""
START_SECONDS = 300.0
"""For everything, on a machine that has much else to do."""
LIMITS = {
    "key_per_minute": 60,
    "key_per_day": 10_000,
    "keyless_per_minute": 30,
    "other_per_minute": 600,
    "registrations_per_minute": 60,
}
"""As an operator has them by default, but for what many sign-ins of one machine need."""
BUCKET = "nights"


def missing() -> list[str]:
    """The programs that are not installed here."""
    redis = shutil.which("redis-server")
    programs = {"postgresql": postgres_bin(), "redis-server": redis, "haproxy": HAPROXY}
    return [name for name, program in programs.items() if program is None]


class Part(NamedTuple):
    """What may be lost: a server, what the servers share, or what stands before them."""

    kill: Callable[[], object]
    start: Callable[[], object]


PARTS = ("Redis", "PostgreSQL", "the object store", "the balancer")
"""What is not a server."""


class ObjectStore(S3Server):
    """An S3 server that keeps its objects: before a kill they are read, and after it they are put
    back, as a disk would have kept them.
    """

    def __init__(self) -> None:
        super().__init__()
        options = {name.lower(): value for name, value in self.environment().items()}
        self._bucket = S3Store(BUCKET, config=options)  # type: ignore[arg-type]
        self._kept: dict[str, bytes] = {}

    def start(self) -> None:
        """Start it with the objects that it had."""
        super().start()
        httpx.put(f"{self.address}/{BUCKET}").raise_for_status()
        for name, body in self._kept.items():
            obstore.put(self._bucket, name, body)

    def stop(self) -> None:
        """Kill it, without its objects."""
        self._kept = {n: bytes(obstore.get(self._bucket, n).bytes()) for n in self.names()}
        super().stop()

    def names(self) -> list[str]:
        """The names of all objects."""
        return [one["path"] for page in obstore.list(self._bucket) for one in page]


def configured(port: int, servers: Sequence[int]) -> str:
    """The shipped file of HAProxy with the ports of a site, and without TLS."""
    changes = {
        "    stats socket /run/haproxy/admin.sock mode 600 level admin\n": "",
        "    bind :80\n": f"    bind 127.0.0.1:{port}\n",
        "    bind :443 ssl crt /etc/haproxy/screener.pem alpn h2,http/1.1\n": "",
        "    http-request redirect scheme https code 301 unless { ssl_fc }\n": "",
        "    http-request set-header X-Forwarded-Proto https\n": "",
    }
    for number, server in enumerate(servers, 11):
        changes[f"10.0.0.{number}:8000"] = f"127.0.0.1:{server}"
    return replaced(HAPROXY_FILE.read_text(), changes)


class Site(Place):
    """A whole site in one folder, whose address is that of the balancer."""

    def __init__(
        self, folder: Path, nights: Nights, postgres: PostgresServer, redis: RedisServer
    ) -> None:
        self.nights = nights
        database = apart(lambda: fresh_database(postgres.url, "site"))
        self.objects = ObjectStore()
        access = self.objects.environment()
        told = {name: os.environ.get(f"SCREENER_{name.upper()}") for name in LIMITS}
        settings = {
            **{name: told[name] or number for name, number in LIMITS.items()},
            "public_url": nights.url,
            "trusted_proxies": "127.0.0.1",
            "database_url": database,
            "limits_url": redis.url,
            "limits_away": "refuse",
            "nights_url": f"s3://{BUCKET}/screener",
            "nights_seconds": LOOK_SECONDS,
        }
        named = {f"SCREENER_{name.upper()}": str(value) for name, value in settings.items()}
        self.environment = {**named, **access}
        """What commands of this site, such as the nightly, find in their environment."""
        self.nightly_folder = folder / "nightly"
        self.servers: list[Server] = []
        for number in range(1, SERVERS + 1):
            data = folder / f"server-{number}"
            log = data.with_suffix(".log")
            self.servers.append(Server(data, free_port(), log, access, **settings))
        for data in (self.nightly_folder, *(server.folder for server in self.servers)):
            data.mkdir()
        file = folder / "haproxy.cfg"
        file.write_text(configured(nights.port, [server.port for server in self.servers]))
        command = [str(HAPROXY), "-db", "-f", str(file)]
        self.balancer = Program(command, nights.port, folder / "haproxy.log")
        chosen = load_settings(
            data_dir=self.nightly_folder, database_url=database, public_url=nights.url
        )
        super().__init__(chosen, nights.port)
        one, two, three = self.servers
        self.parts = {
            "Redis": Part(redis.stop, redis.start),
            "PostgreSQL": Part(postgres.stop, postgres.start),
            "the object store": Part(self.objects.stop, self.objects.start),
            "the balancer": Part(self.balancer.stop, self.balancer.start),
            "server 1": Part(one.kill, one.start),
            "server 2": Part(two.kill, two.start),
            "server 3": Part(three.stop, three.start),
        }

    def start(self) -> None:
        """Start everything, with the first night."""
        self.objects.start()
        self.key()
        self.publish(0)
        for server in self.servers:
            server.start()
        for server in self.servers:
            until(server.answers, START_SECONDS)
        self.balancer.start()
        until(self.answers, START_SECONDS)

    def publish(self, number: int) -> int:
        """Run the nightly of one of the sessions; returns how it ended."""
        session = SESSIONS[number]
        return self.nights.publish(self.nightly_folder, session, self.environment).returncode

    def stop(self) -> None:
        """Stop everything, whatever has ended already."""
        self.balancer.stop()
        with ThreadPoolExecutor(SERVERS) as threads, suppress(AssertionError):
            list(threads.map(Server.stop, self.servers))
        with suppress(obstore.exceptions.BaseError):
            self.objects.stop()

    def tracebacks(self) -> Iterator[str]:
        """The servers whose logs have tracebacks."""
        for server in self.servers:
            if count := server.said().count("Traceback (most recent"):
                yield f"{server.folder.name}: {count} tracebacks in its log"


@contextmanager
def running(folder: Path) -> Iterator[Site]:
    """A site that serves its first night, within the block."""
    nights = Nights(folder)
    nights.learn()
    with running_server() as postgres, running_redis() as redis:
        site = Site(folder, nights, postgres, redis)
        try:
            site.start()
            yield site
        finally:
            site.stop()

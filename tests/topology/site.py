"""The site: three servers without a shared disk behind a balancer, and all that they share."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx

from screener.settings import Settings
from store.accounts import Accounts, Plan
from store.database import Database
from store.keys import Keys
from store.watchlist import Watchlist
from tests.faults.serving import Serving
from tests.screener.process import until
from tests.service import TRACKED, Service, apart
from tests.topology.nights import SESSIONS, Nights
from tests.topology.parts import Balancer, ObjectStore, Part, Postgres, Redis

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


class Site:
    """A whole site in one folder."""

    def __init__(self, folder: Path, nights: Nights) -> None:
        self._folder = folder
        self.nights = nights
        self.postgres, self.redis = Postgres(folder), Redis(folder)
        self.objects = ObjectStore(folder)
        self.nightly_folder = folder / "nightly"
        self.nightly_folder.mkdir()
        self._numbers = itertools.count(1)
        self.servers: list[Serving] = []
        for number in range(1, SERVERS + 1):
            data = folder / f"server-{number}"
            data.mkdir()
            self.servers.append(Serving(data, self.objects.access))
        self.balancer = Balancer(folder, [server.port for server in self.servers])
        self.shared: list[Part] = [self.postgres, self.redis, self.objects]
        for server in self.servers:
            server.settings.update(self._settings())
        self.chosen = Settings(
            data_dir=self.nightly_folder,
            database_url=self.postgres.url,
            public_url=self.balancer.url,
        )

    def _settings(self) -> dict[str, object]:
        told = {name: os.environ.get(f"SCREENER_{name.upper()}") for name in LIMITS}
        return {
            **{name: told[name] or number for name, number in LIMITS.items()},
            "public_url": self.balancer.url,
            "trusted_proxies": "127.0.0.1",
            "database_url": self.postgres.url,
            "limits_url": self.redis.url,
            "limits_away": "refuse",
            "nights_url": self.objects.url,
            "nights_seconds": LOOK_SECONDS,
        }

    @property
    def url(self) -> str:
        """The address of the balancer."""
        return self.balancer.url

    @property
    def environment(self) -> dict[str, str]:
        """What commands of this site, such as the nightly, find in their environment."""
        named = {f"SCREENER_{name.upper()}": str(v) for name, v in self._settings().items()}
        return {**named, **self.objects.access}

    def live(self, key: str = "") -> Service:
        """The service behind the balancer."""
        return Service(self.chosen, self.url, key)

    def through(self, server: Serving) -> Service:
        """The service on one of its servers."""
        return Service(self.chosen, server.url, "")

    def key(self, email: str = "reader@example.com") -> str:
        """A key of a new account."""
        return self.keys([email])[0]

    def keys(self, emails: list[str], each: int = 1) -> list[str]:
        """Keys of new accounts, some of each, which track the symbols of the tests."""

        async def work() -> list[str]:
            database = Database(self.chosen.accounts_url)
            try:
                await database.migrate()
                accounts, keys, made = Accounts(database), Keys(database), list[str]()
                for email in emails:
                    account = await accounts.add(email, Plan.PREMIUM_PLUS)
                    await Watchlist(database).replace(account.id, TRACKED, len(TRACKED))
                    made += [(await keys.create(email, "test"))[1] for _ in range(each)]
                return made
            finally:
                await database.close()

        return apart(work)

    def start(self) -> None:
        """Start everything, with the first night."""
        with ThreadPoolExecutor(len(self.shared)) as threads:
            list(threads.map(lambda part: part.start(), self.shared))
        self.key()
        self.publish(0)
        for server in self.servers:
            server.start()
        for server in self.servers:
            until(server.answers, START_SECONDS)
        self.balancer.start()
        until(self.answers, START_SECONDS)

    def publish(self, number: int) -> bool:
        """Run the nightly of one of the sessions; False if its night was there already."""
        return self.nights.publish(self.nightly_folder, SESSIONS[number], self.environment)

    def stop(self) -> None:
        """Stop everything, whatever has ended already."""
        for stop in (self.balancer.stop, *(server.stop for server in self.servers)):
            with suppress(AssertionError, OSError):
                stop()
        for part in reversed(self.shared):
            part.stop()

    def answers(self) -> bool:
        """Whether a call without a key is answered well."""
        with suppress(httpx.HTTPError):
            return httpx.get(f"{self.url}/api/v1/families", timeout=5).status_code == 200
        return False

    def tracebacks(self) -> Iterator[str]:
        """The servers whose logs have tracebacks."""
        for server in self.servers:
            count = server.log.read_text(errors="replace").count("Traceback (most recent")
            if count:
                yield f"{server.folder.name}: {count} tracebacks in its log"


def health(server: Serving) -> Mapping[str, str] | None:
    """What a server says is worse than it should be, by part; None if it is not ready."""
    with suppress(httpx.HTTPError, ValueError):
        answer = httpx.get(f"{server.url}/health/ready", timeout=5)
        if answer.status_code == 200:
            return {one["part"]: one["why"] for one in answer.json()["degraded"]}
    return None


@contextmanager
def running(folder: Path) -> Iterator[Site]:
    """A site that serves its first night, within the block."""
    nights = Nights(folder)
    site = Site(folder, nights)
    with ExitStack() as stack:
        stack.callback(site.stop)
        nights.learn(folder / "truth", site.url)
        site.start()
        yield site

"""A server: `screener serve` as a process that can be killed and started again."""

from __future__ import annotations

import os
import signal
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Self

import httpx

from benchmarks.serving.process import environment, family
from screener.settings.settings import Settings, load_settings
from store.accounts.accounts import AccountPlan, Accounts
from store.accounts.keys import Keys
from store.accounts.watchlist import Watchlist
from store.database.database import Database
from tests.screener.command import COMMAND
from tests.screener.process import workers_of
from tests.service import TRACKED, Service, apart

PATIENCE = 90.0
"""Seconds after which a request counts as one that hangs, and a start as one that fails."""
GENEROUS = {
    "key_per_minute": 100_000,
    "key_per_day": 10_000_000,
    "keyless_per_minute": 1_000_000,
    "other_per_minute": 1_000_000,
    "registrations_per_minute": 100_000,
}
"""Limits that do not hide what a fault does."""

CONTEXT = ssl.create_default_context()
"""One for all clients, since each reads every certificate of the system."""

numbers = count(1)
"""Of accounts and addresses that nobody had before."""


class Place:
    """Where clients go: an address, and the settings with which its accounts are reached."""

    def __init__(self, chosen: Settings, port: int) -> None:
        self.chosen = chosen
        self.port = port
        self.url = f"http://127.0.0.1:{port}"

    @property
    def live(self) -> Service:
        """The service as the tests' clients know it."""
        return Service(self.chosen, self.url, "")

    def key(self, email: str = "reader@example.com", tracked: tuple[str, ...] = TRACKED) -> str:
        """A key of a new account."""
        return self.keys([email], tracked=tracked)[0]

    def keys(
        self, emails: Sequence[str], each: int = 1, tracked: tuple[str, ...] = TRACKED
    ) -> list[str]:
        """Keys of new accounts, some of each, which track some symbols."""

        async def work() -> list[str]:
            async with Database(self.chosen.accounts_url) as database:
                await database.migrate()
                accounts, keys, made = Accounts(database), Keys(database), list[str]()
                for email in emails:
                    account = await accounts.add(email, AccountPlan.PREMIUM_PLUS)
                    await Watchlist(database).change(account.id, lambda _: tracked)
                    made += [(await keys.create(email, "test"))[1] for _ in range(each)]
                return made

        return apart(work)

    def client(self, key: str = "", address: str = "") -> httpx.Client:
        """A client with an address of its own, which opens a connection for each request."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return httpx.Client(
            transport=transport(address),
            base_url=self.url,
            headers={**headers, "Connection": "close"},
            timeout=PATIENCE,
        )

    def answers(self, path: str = "/api/v1/families", key: str = "") -> bool:
        """Whether a call is answered well."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        with suppress(httpx.HTTPError):
            answer = httpx.get(self.url + path, headers=headers, timeout=30, verify=CONTEXT)
            return answer.status_code == 200
        return False


def new_address() -> str:
    """A loopback address that nobody had before."""
    number = next(numbers)
    return f"127.1.{number // 250 % 250}.{1 + number % 250}"


def transport(address: str = "") -> httpx.HTTPTransport:
    """A transport from some address of this machine, or from a new one."""
    return httpx.HTTPTransport(verify=CONTEXT, local_address=address or new_address())


class Server(Place):
    """`screener serve` on a data folder: always on one port, so that clients find it again."""

    def __init__(
        self,
        folder: Path,
        port: int,
        log: Path,
        more: Mapping[str, str] | None = None,
        **settings: object,
    ) -> None:
        self.folder, self.log = folder, log
        fixed = {"charts_warm": False, "sign_up": True, "client_metadata_documents": False}
        self.settings = {**GENEROUS, **fixed, **settings}
        self._more = more or {}
        self._process: subprocess.Popen[bytes] | None = None
        url = self.settings.get("database_url")
        super().__init__(load_settings(data_dir=folder, database_url=url), port)

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The process that was started last."""
        assert self._process is not None
        return self._process

    def start(self) -> None:
        """Start it; who wants to know when it answers calls `ready`."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*COMMAND, "serve", "--port", str(self.port)],
                env={**environment(data_dir=self.folder, **self.settings), **self._more},
                stdout=log,
                stderr=log,
            )

    def ready(self) -> float:
        """Wait until it answers; returns the seconds that it took."""
        began = time.monotonic()
        while not self.answers():
            if time.monotonic() - began > PATIENCE or self.process.poll() is not None:
                raise RuntimeError(f"The service does not answer: {self.said()[-2000:]}")
            time.sleep(0.02)
        return time.monotonic() - began

    @contextmanager
    def running(self) -> Iterator[Self]:
        """It answers, and is stopped at the end of the block."""
        self.start()
        try:
            self.ready()
            yield self
        finally:
            self.stop()

    def said(self) -> str:
        """Its log."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def workers(self) -> list[int]:
        """The processes that answer, of several."""
        return sorted(workers_of(self.process.pid))

    def kill(self) -> None:
        """Kill it and what it started, as a power cut would."""
        for pid in family(self.process.pid):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(30)

    def stop(self) -> None:
        """Stop it as an operator does."""
        self.process.terminate()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()

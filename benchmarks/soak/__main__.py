"""A soak: `make soak MINUTES=30`.

A service with two workers serves a synthetic market. First its capacity is found; then it gets
70 % of that in an open loop, of everything that clients ask for, while another night is activated
every minute. Prints errors, latencies, and how memory and descriptors of each process changed. Ends
with 1 on any error. Memory grows while caches fill: only samples after the warm-up count.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import anyio

from benchmarks.serving.book import make_market, read_template, seal
from benchmarks.serving.process import Server, environment, free_port
from benchmarks.serving.stage import LIMITS, READY, SCREENER, make_keys, say
from benchmarks.soak.drive import CONNECTIONS, Driver, Tally
from benchmarks.soak.mix import Mix, Ticker, kinds
from benchmarks.soak.slopes import Sampler
from screener.sessions import sessions_of
from screener.settings import Settings
from store.accounts import Accounts, Plan
from store.database import Database
from store.keys import Keys
from store.manifest import Manifest
from store.nights import Nights
from store.passwords import Passwords
from store.watchlist import Watchlist
from tests.conftest import seal_night

WORKERS = 2
SIZES = (600, 610, 620)
"""Symbols of the markets, each of which is one night."""
PROBES, PROBE_SECONDS = 3, 4.0
SHARE = 0.7
"""Of the capacity."""
SWITCH_SECONDS = 60.0
LOOK_SECONDS = 2.0
WARM_UP = 0.25
"""Of the time; at most `LONGEST_WARM_UP` seconds. Every night is served once within it."""
LONGEST_WARM_UP = 300.0
SHARES = (0.5, 0.9, 0.99, 0.999, 1.0)
WRITERS = 12
TICKERS = 24


def main() -> int:
    """Build the nights, start the service, soak it, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--rate", type=float, help="requests a second, instead of 70 %% of all")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        folder = Path(name)
        versions = _nights(folder)
        port = free_port()
        settings = {**LIMITS, "data_dir": folder / "data", "port": port, "workers": WORKERS}
        keys, writers, session = anyio.run(_people, folder / "data")
        log = folder / "server.log"
        command = [str(SCREENER), "serve"]
        with Server("the service", command, port, environment(**settings), log) as server:
            server.wait(READY, key=keys[0])
            mix = Mix(kinds(port, keys, writers, session, _tickers(server, keys[0])), given.seed)
            driver = Driver(port, mix, [manifest.data_version for manifest in versions])
            soak = Soak(server, driver, versions, folder / "data", given.minutes * 60)
            asyncio.run(soak.run(given.rate))
        print("\n".join(soak.report()))
        problems = [line for line in log.read_text().splitlines() if "Traceback" in line]
        print(f"Tracebacks in the log: {len(problems)}")
        return int(bool(soak.errors or problems))


class Soak:
    """One soak: the load, the switches of nights, and the samples of the processes."""

    def __init__(
        self,
        server: Server,
        driver: Driver,
        nights: Sequence[Manifest],
        data: Path,
        seconds: float,
    ) -> None:
        self._server = server
        self._driver = driver
        self._nights = nights
        self._data = data
        self._seconds = seconds
        self._sampler = Sampler(server.pid)
        self._capacity = self._rate = 0.0
        self._switches: list[float] = []
        self.errors: dict[str, int] = {}

    async def run(self, rate: float | None) -> None:
        """Find the capacity, unless a rate is given, and soak."""
        say(f"Finding the capacity: {PROBES} x {PROBE_SECONDS:.0f} s")
        found = [await self._driver.closed(PROBE_SECONDS) for _ in range(PROBES)]
        self._capacity = max(found)
        self._rate = rate or SHARE * self._capacity
        probing = self._driver.tally.errors
        self._driver.tally = Tally()
        self._driver.tally.errors.update(probing)
        say(f"{self._capacity:,.0f} a second; {self._rate:,.0f} for {self._seconds / 60:g} minutes")
        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            others = [group.create_task(self._look(began)), group.create_task(self._switch())]
            await self._driver.steady(self._rate, self._seconds)
            for task in others:
                task.cancel()
        self._driver.close()
        self.errors = dict(self._driver.tally.errors)

    async def _look(self, began: float) -> None:
        while True:
            self._sampler.look(time.monotonic() - began)
            await asyncio.sleep(LOOK_SECONDS)

    async def _switch(self) -> None:
        number = 0
        while True:
            await asyncio.sleep(min(SWITCH_SECONDS, self._seconds / 4))
            version = self._nights[number % len(self._nights)].data_version
            number += 1
            began = time.monotonic()
            process = await asyncio.create_subprocess_exec(
                str(SCREENER), "night", "activate", version,
                env=environment(data_dir=self._data),
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            )  # fmt: skip
            if await process.wait():
                self._driver.tally.errors["a night could not be activated"] += 1
            self._switches.append(time.monotonic() - began)

    def report(self) -> list[str]:
        """What came of it, as Markdown."""
        tally, warm = self._driver.tally, min(self._seconds * WARM_UP, LONGEST_WARM_UP)
        return [
            f"# A soak of {self._seconds / 60:g} minutes\n",
            f"Python {platform.python_version()}, {os.cpu_count()} cores, {WORKERS} workers and "
            f"the clients on one machine; capacity {self._capacity:,.0f} requests a second from "
            f"{CONNECTIONS} clients, soaked at {self._rate:,.0f}: {tally.answered:,} answers, "
            f"{len(self._switches)} night switches.\n",
            f"Errors: {sum(self.errors.values())}\n",
            *(f"- {number} x {what}" for what, number in self.errors.items()),
            *_rows(("kind", "answers", "p50 ms", "p90", "p99", "p99.9", "most"), self._latencies()),
            f"\nAfter {warm:.0f} s of warm-up, by least squares, ± 2 standard errors:\n",
            *_rows(
                ("process", "memory, MB", "MB an hour", "descriptors", "an hour"),
                self._sampler.rows(warm),
            ),
        ]

    def _latencies(self) -> list[tuple[str, ...]]:
        spent = self._driver.tally.spent
        whole = [one for times in spent.values() for one in times]
        return [
            (name, f"{len(times):,}", *(f"{_at(times, share):.1f}" for share in SHARES))
            for name, times in [*spent.items(), ("all", whole)]
        ]


def _at(times: list[float], share: float) -> float:
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def _rows(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(row)} |" for row in [head, *rows]]
    return [lines[0], "|---" * len(head) + "|", *lines[1:]]


def _nights(folder: Path) -> list[Manifest]:
    """The sealed nights, of which the last one is active."""
    say(f"Sealing {len(SIZES)} nights of {SIZES[0]} symbols and more")
    seal_night(folder / "sample")
    template = read_template(folder / "sample")
    for size in SIZES:
        seal(make_market(template, size), folder / "data")
    return Nights(folder / "data").sealed()


async def _people(data: Path) -> tuple[list[str], list[str], str]:
    """Keys that read, keys that change their lists, and a browser's session."""
    tracked = tuple(f"S{number:05}" for number in range(50))
    chosen = Settings(data_dir=data)
    keys = await make_keys(Database(chosen.accounts_url), tracked)
    database = Database(chosen.accounts_url)
    try:
        accounts, writers = Accounts(database), []
        for number in range(WRITERS):
            account = await accounts.add(f"writer{number}@example.com", Plan.PREMIUM_PLUS)
            await Watchlist(database).replace(account.id, tracked[:4], 200)
            writers.append((await Keys(database).create(account.email, "load"))[1])
        encoded = await Passwords().hash("a long password of nobody")
        person = await accounts.add("person@example.com", Plan.PREMIUM_PLUS, encoded)
        await Watchlist(database).replace(person.id, tracked[:20], 200)
        return keys, writers, await sessions_of(chosen, database).start(person.id, encoded)
    finally:
        await database.close()


def _tickers(server: Server, key: str) -> list[Ticker]:
    """Tracked symbols with a setup, and what the service says of them."""
    found: list[Ticker] = []
    for number in range(50):
        symbol = f"S{number:05}"
        path = f"/api/v1/tickers/{symbol}/patterns"
        _, fields, body = server.ask("GET", path, {"Authorization": f"Bearer {key}"})
        setups = json.loads(body)["setups"]
        if setups:
            found.append(Ticker(symbol, setups[0]["setup_id"], fields["ETag"]))
    return found[:TICKERS]


if __name__ == "__main__":
    sys.exit(main())

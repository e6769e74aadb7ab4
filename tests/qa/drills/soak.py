"""A soak: a service with two workers serves a synthetic market for long.

First its capacity is found; then it gets 70 % of that in an open loop, of everything that clients
ask for, while another night is activated every minute. Memory grows while caches fill: only samples
after the warm-up count.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import platform
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import anyio
import numpy as np
import psutil

from benchmarks.serving.book import make_market, read_template, seal
from benchmarks.serving.cases import MARK, Case, make_cases
from benchmarks.serving.stage import ACCOUNTS, KEYS, LIMITS, say
from store.nights.nights import Nights as Sealed
from tests.conftest import seal_night
from tests.qa.drills.drill import table
from tests.qa.drills.server import Server
from tests.qa.drills.truth import versions
from tests.screener.command import COMMAND, environment
from tests.screener.process import free_port
from tests.screener.web.people import new_person, signed_in

WORKERS, SEED = 2, 1
SIZES = (600, 610, 620)
"""Symbols of the markets, each of which is one night."""
PROBES, PROBE_SECONDS = 3, 4.0
SHARE = 0.7
"""Of the capacity."""
SWITCH_SECONDS = 60.0
LOOK_SECONDS = 2.0
WARM_UP = 0.25
"""Of the time; at most `MAX_WARM_UP` seconds. Every night is served once within it."""
MAX_WARM_UP = 300.0
SHARES = (0.5, 0.9, 0.99, 0.999, 1.0)
CONNECTIONS, NETWORKS = 64, 32
"""Connections, and the addresses that they come from; what one may have at once is bounded."""
PATIENCE = 30.0
"""Seconds after which an answer counts as none."""
FRESH = 30.0
"""Seconds for which an idle connection is used again; the service ends one after 60."""
HOUR = 3600.0
ROLES = {
    "anyio.to_process": "drawing",
    "resource_tracker": "tracker",
    "spawn_main": "worker",
}
"""What the command line of a child tells of its work."""

CASES = {
    "rest-patterns": 18,
    "rest-history": 10,
    "scan-uncached": 6,
    "scan-cached": 12,
    "chart-cached": 3,
    "families": 6,
    "mcp-2025": 12,
    "mcp-2026": 12,
    "revalidation": 8,
}
"""What programs and agents ask for, in the shares of a usual day."""
NAMELESS = ("chart-cached", "revalidation")
"""Those whose answers name no night."""
PAGES = ("/", "/families", "/docs", "/status", "/screen", "/watchlist", "/changes", "/account")
JSON = {"Content-Type": "application/json"}
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]
TRACKED = tuple(f"S{number:05}" for number in range(50))
"""The symbols that all readers track."""
WRITERS, TICKERS = 12, 24
DRAWN = 8
"""Setups whose charts are asked for: some are drawn anew after each switch."""


class Kind(NamedTuple):
    """One kind of request: its share, its requests, and the statuses that are right."""

    name: str
    share: float
    requests: Sequence[bytes]
    statuses: tuple[int, ...] = (200,)
    sealed: bool = True
    """Whether each answer must name one of the nights."""


async def read_answer(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """The status and body of one answer, read by its Content-Length (RFC 9112 section 6.3)."""
    head = await reader.readuntil(b"\r\n\r\n")
    status = int(head[9:12])
    length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
    if status == 304 or length is None:
        return status, b""
    return status, await reader.readexactly(int(length[1]))


def kinds(server: Server) -> Iterator[Kind]:
    """Every kind of request; they rotate over the keys and the tickers."""
    readers = [f"reader{number}@example.com" for number in range(ACCOUNTS)]
    keys = server.keys(readers, KEYS, TRACKED)
    writers = server.keys([f"writer{n}@example.com" for n in range(WRITERS)], 1, TRACKED[:4])
    browser = signed_in(server.live, new_person(server.live, tracked=TRACKED[:20]))
    port, tickers = server.port, list(_tickers(server, keys[0]))

    def raw(key: str, path: str, method: str = "GET", **body: object) -> bytes:
        return Case("", path, (), method, JSON, json.dumps(body).encode()).raw("ours", key, port)

    for name, share in CASES.items():
        chosen = tickers[:DRAWN] if name == "chart-cached" else tickers
        requests = [
            next(case for case in make_cases(*one) if case.name == name).raw("ours", key, port)
            for key, one in zip(keys, itertools.cycle(chosen), strict=False)
        ]
        statuses = (200, 304) if name == "revalidation" else (200,)
        yield Kind(name, share, requests, statuses, sealed=name not in NAMELESS)
    pages = [f"/api/v1/scan?status=all&limit=50&offset={at}" for at in (0, 50, 100, 150)]
    yield Kind("scan-pages", 5, [*map(raw, keys, pages)])
    cookie = f"Host: 127.0.0.1:{port}\r\nCookie: session={browser.cookies['session']}\r\n\r\n"
    asked = [f"GET {path} HTTP/1.1\r\n{cookie}".encode() for path in PAGES]
    yield Kind("pages", 6, asked, sealed=False)
    changes = []
    for key, (one, *_), (other, *_) in zip(writers, tickers, tickers[1:], strict=False):
        changes.append(raw(key, "/api/v1/tickers", "PUT", symbols=[one, other]))
        changes.append(raw(key, "/api/v1/tickers", "PATCH", add=[one], remove=[other]))
    yield Kind("watchlist", 2, changes)


def _tickers(server: Server, key: str) -> Iterator[tuple[str, str, str]]:
    """Tracked symbols with a setup, one of these, and the ETag of their patterns."""
    with server.client(key) as client:
        answers = ((symbol, client.get(f"/api/v1/tickers/{symbol}/patterns")) for symbol in TRACKED)
        shown = (one for one in answers if one[1].json()["setups"])
        for symbol, answer in itertools.islice(shown, TICKERS):
            yield symbol, answer.json()["setups"][0]["setup_id"], answer.headers["ETag"]


class Soak:
    """One soak: the load, the switches of nights, and the samples of the processes."""

    def __init__(self, server: Server, nights: Sequence[str], given: argparse.Namespace) -> None:
        self._server, self._nights = server, nights
        self._seconds = given.minutes * 60
        self._kinds = list(kinds(server))
        self._random = random.Random(SEED)
        self._numbers = itertools.count(1)
        self._free: asyncio.LifoQueue[tuple[float, Connection]] = asyncio.LifoQueue()
        self._tracks: dict[tuple[str, int], list[tuple[float, float, float]]] = {}
        self._capacity = self._rate = 0.0
        self._switches = 0
        self._spent: dict[str, list[float]] = defaultdict(list)
        """Milliseconds by kind."""
        self.errors = Counter[str]()

    async def run(self) -> None:
        """Find the capacity, and soak."""
        say(f"Finding the capacity: {PROBES} x {PROBE_SECONDS:.0f} s")
        self._capacity = max([await self._probe() for _ in range(PROBES)])
        self._rate = SHARE * self._capacity
        self._spent.clear()
        say(f"{self._capacity:,.0f} a second; {self._rate:,.0f} for {self._seconds / 60:g} minutes")
        async with asyncio.TaskGroup() as group:
            others = [group.create_task(self._look()), group.create_task(self._switch())]
            await self._steady()
            for task in others:
                task.cancel()
        while not self._free.empty():
            self._free.get_nowait()[1][1].close()

    async def _probe(self) -> float:
        """Requests a second that are answered if each client waits for its answer."""
        before, end = self._answers(), time.perf_counter() + PROBE_SECONDS

        async def client() -> None:
            while time.perf_counter() < end:
                await self._send(time.perf_counter())

        await asyncio.gather(*(client() for _ in range(CONNECTIONS)))
        return (self._answers() - before) / PROBE_SECONDS

    async def _steady(self) -> None:
        """Send at a rate, whether answers come or not: times count from when a request was due."""
        due = time.perf_counter()
        end = due + self._seconds
        async with asyncio.TaskGroup() as group:
            while due < end:
                if (wait := due - time.perf_counter()) > 0:
                    await asyncio.sleep(wait)
                group.create_task(self._send(due))
                # To the next request of callers who know nothing of each other.
                due += self._random.expovariate(self._rate)

    async def _send(self, due: float) -> None:
        """Send a request of some kind; each mark in one is replaced by a new number."""
        (kind,) = self._random.choices(self._kinds, [kind.share for kind in self._kinds])
        number = next(self._numbers)
        raw = kind.requests[number % len(kind.requests)].replace(MARK.encode(), b"%09d" % number)
        try:
            async with asyncio.timeout(PATIENCE):
                reader, writer = await self._connection()
                writer.write(raw)
                status, body = await read_answer(reader)
        except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
            self.errors[f"{kind.name}: {type(error).__name__}"] += 1
            return
        self._spent[kind.name].append((time.perf_counter() - due) * 1000)
        self._free.put_nowait((time.perf_counter(), (reader, writer)))
        if status not in kind.statuses:
            self.errors[f"{kind.name}: {status} {body[:40]!r}"] += 1
        elif kind.sealed and (len(named := versions(body)) != 1 or not named <= {*self._nights}):
            self.errors[f"{kind.name}: an answer of no known night"] += 1

    async def _connection(self) -> Connection:
        while not self._free.empty():
            since, (reader, writer) = self._free.get_nowait()
            if time.perf_counter() - since < FRESH and not reader.at_eof():
                return reader, writer
            writer.close()
        here = f"127.3.0.{1 + next(self._numbers) % NETWORKS}"
        return await asyncio.open_connection("127.0.0.1", self._server.port, local_addr=(here, 0))

    async def _look(self) -> None:
        """Sample the memory and the descriptors of the service and of all that it starts."""
        parent, began = psutil.Process(self._server.process.pid), time.monotonic()
        while True:
            for process in (parent, *parent.children(recursive=True)):
                with suppress(psutil.Error):  # it has ended meanwhile
                    line = " ".join(process.cmdline())
                    role = next((role for word, role in ROLES.items() if word in line), "parent")
                    memory, opened = process.memory_info().rss / 2**20, process.num_fds()
                    track = self._tracks.setdefault((role, process.pid), [])
                    track.append((time.monotonic() - began, memory, opened))
            await asyncio.sleep(LOOK_SECONDS)

    async def _switch(self) -> None:
        for version in itertools.cycle(self._nights):
            await asyncio.sleep(min(SWITCH_SECONDS, self._seconds / 4))
            done = await anyio.run_process(
                [*COMMAND, "night", "activate", version],
                env=environment(self._server.folder),
                check=False,
            )
            self.errors["a night could not be activated"] += done.returncode != 0
            self._switches += 1

    def _answers(self) -> int:
        return sum(map(len, self._spent.values()))

    def report(self) -> list[str]:
        """What came of it, as Markdown."""
        warm = min(self._seconds * WARM_UP, MAX_WARM_UP)
        whole = [one for times in self._spent.values() for one in times]
        return [
            f"# A soak of {self._seconds / 60:g} minutes\n",
            f"Python {platform.python_version()}, {os.cpu_count()} cores, {WORKERS} workers and "
            f"the clients on one machine; capacity {self._capacity:,.0f} requests a second from "
            f"{CONNECTIONS} clients, soaked at {self._rate:,.0f}: {self._answers():,} answers, "
            f"{self._switches} night switches.\n",
            f"Errors: {self.errors.total()}\n",
            *(f"- {number} x {what}" for what, number in (+self.errors).items()),
            *table(
                ("kind", "answers", "p50 ms", "p90", "p99", "p99.9", "most"),
                (
                    (name, f"{len(times):,}", *(f"{spent:.1f}" for spent in _at(times)))
                    for name, times in [*self._spent.items(), ("all", whole)]
                ),
            ),
            f"\nAfter {warm:.0f} s of warm-up, by least squares, ± 2 standard errors:\n",
            *table(
                ("process", "memory, MB", "MB an hour", "descriptors", "an hour"),
                (
                    (f"{role} {pid}", *changes_in([one for one in track if one[0] >= warm]))
                    for (role, pid), track in self._tracks.items()
                ),
            ),
        ]


def _at(times: Sequence[float]) -> Iterator[float]:
    ordered = sorted(times)
    for share in SHARES:
        yield ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def changes_in(track: Sequence[tuple[float, float, float]]) -> tuple[str, ...]:
    """How memory and descriptors changed, and by how much an hour, by samples with their times."""
    if len(track) < 3:
        return "too short-lived to tell", "", "", ""
    times, memory, files = zip(*track, strict=True)
    grown, opened = slope_of(times, memory), slope_of(times, files)
    return (
        f"{memory[0]:.1f} to {memory[-1]:.1f}",
        f"{grown.per_hour:+.1f} ± {2 * grown.error:.1f}",
        f"{files[0]:.0f} to {files[-1]:.0f}",
        f"{opened.per_hour:+.1f} ± {2 * opened.error:.1f}",
    )


class Slope(NamedTuple):
    """A line through samples by least squares, and the standard error of its slope."""

    per_hour: float
    error: float


def slope_of(times: Sequence[float], values: Sequence[float]) -> Slope:
    """The slope of values (of any unit, per hour) over times in seconds; at least 3 samples."""
    line, covariance = np.polyfit(times, values, 1, cov=True)
    return Slope(line[0] * HOUR, np.sqrt(covariance[0, 0]) * HOUR)


def soak(given: argparse.Namespace, folder: Path) -> bool:
    """Build the nights, start the service, soak it, and print what came of it."""
    say(f"Sealing {len(SIZES)} nights of {SIZES[0]} symbols and more")
    data = folder / "data"
    seal_night(folder / "sample")
    template = read_template(folder / "sample")
    for size in SIZES:
        seal(make_market(template, size), data)
    versions = [night.data_version for night in Sealed(data).sealed()]
    server = Server(
        data, free_port(), folder / "log", None, workers=WORKERS, charts_warm=True, **LIMITS
    )
    with server.running():
        one = Soak(server, versions, given)
        asyncio.run(one.run())
    print("\n".join(one.report()))
    tracebacks = server.said().count("Traceback")
    print(f"Tracebacks in the log: {tracebacks}")
    return bool(one.errors.total() or tracebacks)

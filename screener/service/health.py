"""Health: what a balancer or a monitor learns of one process, without a key and without a limit.

`/health/live` says that the process answers. `/health/ready` is 503 only if the process can serve
nothing. Whatever is merely worse is 200 and named in `degraded`: all servers share the night and
the database, and a balancer that took them all out for an old night would end the service.

A probe reads nothing: it is answered with what a background loop found last. Another loop looks up
for `/metrics` what no request tells.
"""

from __future__ import annotations

import datetime as dt
import math
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import anyio
import anyio.to_thread
import orjson

from mcp_server.http.application import TEXT, refuse_host
from mcp_server.http.requests import Origins, Receive, Scope
from mcp_server.http.responses import HttpResponse, response
from mcp_server.operations.services import Services
from mcp_server.presentation.age import Age
from oauth.client_documents import ClientDocuments
from screener.service.supervisor import Supervisor
from screener.telemetry import metrics
from screener.telemetry.metrics import PARTS, Degraded
from screener.telemetry.version import VERSION
from store.database.database import Database
from store.errors import DatabaseError, DatabaseMovedError
from store.nights.book import Book
from store.remote.follower import Follower

LOOK_SECONDS = 2.0
"""Seconds between two looks."""

MEASURE_SECONDS = 2.0

DATABASE_SECONDS = 3.0
"""For which a look waits for the account database."""

GRACE = dt.timedelta(hours=12)
"""How long after the end of a session its night may come, counted from midnight UTC."""

LIVE, READY = "/health/live", "/health/ready"

Status = Literal["ready", "degraded", "unavailable"]


@dataclass(frozen=True, slots=True)
class Readiness:
    """What one look found."""

    status: Status
    degraded: tuple[Degraded, ...]
    session: dt.date | None
    data_version: str | None


class Health:
    """The state of a serving process."""

    def __init__(
        self,
        services: Services,
        database: Database,
        supervisor: Supervisor,
        clock: Callable[[], dt.datetime],
        origins: Origins,
        follower: Follower | None = None,
        documents: ClientDocuments | None = None,
    ) -> None:
        """Look after the parts of a process; the follower where nights are in a shared store, the
        documents of apps where they are read.
        Probes are answered for every Host of the origins, which no stranger can have.
        """
        self._services = services
        self._database = database
        self._supervisor = supervisor
        self._clock = clock
        self._origins = origins
        self._follower = follower
        self._documents = documents
        self.state = Readiness("unavailable", (), None, None)
        """What the last look found."""

    async def keep_looking(self) -> None:
        """Look every few seconds, until cancelled."""
        while True:
            await anyio.sleep(LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Look after every part, and remember which are worse than they should be."""
        fault = await self._database_fault()
        book = self._services.active_night.book
        serves = book.session is not None
        degraded = (*self._night(book), *self._nights(book), *self._parts(fault))
        status: Status = "degraded" if degraded else "ready"
        self.state = Readiness(
            status if serves else "unavailable", degraded, book.session, book.data_version
        )
        worse = {part for part, _ in degraded}
        for part in PARTS:
            metrics.degraded.labels(part).set(part in worse)

    def degraded(self) -> tuple[Degraded, ...]:
        """The parts that are worse than they should be."""
        return self.state.degraded

    def _night(self, book: Book) -> Iterator[Degraded]:
        now, fault = self._clock(), self._services.active_night.fault
        if book.session is None:
            unread = "The night cannot be read; see the log."
            yield Degraded("night", unread if fault else "There is no night yet.")
        # The sample never gets newer: whoever serves it wants no other night.
        elif not book.sample and Age.of(book, (now - GRACE).date()).missed:
            yield Degraded("night", Age.of(book, now.date()).words)

    def _nights(self, book: Book) -> Iterator[Degraded]:
        follower = self._follower
        if follower is None or (trouble := follower.lasting) is None:
            return
        serves = f"the night served is of {book.session}" if book.session else "no night is served"
        since = f"{trouble.since:%Y-%m-%d %H:%M} UTC"
        if trouble.kind == "away":
            at = follower.reached_at
            since = f"{at:%Y-%m-%d %H:%M} UTC" if at else f"the start at {since}"
            words = f"The store of nights has not been reached since {since}"
        elif trouble.kind == "fault":
            words = "The newest night in the store of nights cannot be fetched; see the log"
        else:
            why = trouble.why or "it is still being fetched"
            words = (
                f"A newer night in the store of nights, known since {since}, is not here yet: {why}"
            )
        yield Degraded("nights", f"{words}; {serves}.")

    def _parts(self, database_fault: str | None) -> Iterator[Degraded]:
        services = self._services
        if services.active_night.fault and services.active_night.book.session is not None:
            yield Degraded("new_night", "A new night cannot be opened; see the log.")
        if database_fault:
            yield Degraded("database", database_fault)
        elif services.usage.is_behind:
            yield Degraded("database", "The account database cannot be written.")
        elif services.principals.changes.fault:
            yield Degraded("database", services.principals.changes.fault)
        if fault := services.limiter.counting.fault:
            yield Degraded("counters", fault)
        for what in self._supervisor.failed_lately:
            yield Degraded("loops", f"The loop {what} failed and is started again.")
        if services.charts.is_broken:
            yield Degraded("charts", "The process that draws failed; stored charts are served.")
        if services.active_night.restore_is_pending:
            yield Degraded("restore", "A restore has not finished; restart the service to end it.")

    async def _database_fault(self) -> str | None:
        try:
            with anyio.fail_after(DATABASE_SECONDS):
                await self._database.probe()
        except DatabaseMovedError:
            return "The accounts have moved to another database; calls with a key are refused."
        except (DatabaseError, TimeoutError):
            return "The account database does not answer; calls with a key are refused."
        return None

    async def respond(self, scope: Scope, _receive: Receive) -> HttpResponse:
        """Answer a request for `LIVE` or `READY`."""
        if refusal := refuse_host(scope, self._origins):
            return refusal
        if scope["method"] not in ("GET", "HEAD"):
            answer = response(405, b"Send GET or HEAD.", TEXT)
            answer.headers.append((b"allow", b"GET, HEAD"))
            return answer
        return response(200, b'{"status":"live"}') if scope["path"] == LIVE else self._ready()

    def _ready(self) -> HttpResponse:
        state = self.state
        fields = {
            "status": state.status,
            "degraded": [part._asdict() for part in state.degraded],
            "as_of_session": state.session,
            "data_version": state.data_version,
            # Nothing is worse without: an app that is told of none registers.
            "client_documents": self._documents is not None and not self._documents.unread,
            "version": VERSION,
        }
        return response(503 if state.status == "unavailable" else 200, orjson.dumps(fields))


async def keep_measuring(
    services: Services, data_dir: Path, clock: Callable[[], dt.datetime]
) -> None:
    """Measure every few seconds until cancelled; what was counted since is published then too."""
    metrics.announce(VERSION)
    try:
        while True:
            measure(services, clock().date())
            await anyio.to_thread.run_sync(measure_disk, data_dir)
            await anyio.sleep(MEASURE_SECONDS)
    finally:
        metrics.publish()


def measure(services: Services, today: dt.date) -> None:
    """Publish what is known of the night, as of a UTC day, and of what has been counted since."""
    age = Age.of(services.active_night.book, today)
    metrics.night_session.set(_seconds(age.session))
    metrics.night_sample.set(age.sample)
    metrics.sessions_behind.set(0 if age.sample else age.missed or 0)
    metrics.usage_rows_waiting.set(services.usage.waiting)
    metrics.usage_behind.set(services.usage.is_behind)
    metrics.publish()


def measure_disk(folder: Path) -> None:
    """Set the gauges of the disk of a folder; NaN while the folder is away."""
    size, free = math.nan, math.nan
    with suppress(OSError):
        size, _, free = shutil.disk_usage(folder)
    metrics.data_size.set(size)
    metrics.data_free.set(free)


def _seconds(day: dt.date | None) -> float:
    if day is None:
        return 0.0
    return dt.datetime.combine(day, dt.time(), dt.UTC).timestamp()

"""Drills: each part is killed or restarted once, one at a time, and nights come and go."""

from __future__ import annotations

import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import httpx

from tests.faults.serving import Serving
from tests.faults.writers import client_of
from tests.screener.command import COMMAND, environment
from tests.screener.process import until
from tests.topology.crowd import Crowd
from tests.topology.nights import SESSIONS
from tests.topology.parts import Part
from tests.topology.site import Site, health
from tests.topology.truth import KEYLESS, Wrong, versions

AWAY = 2.0
"""Seconds for which a part is away."""
OUGHT = 300.0
"""Seconds within which everything must be well again, on a machine that has much else to do."""


@dataclass
class Drill:
    """What was done to a part, and what came of it."""

    part: str
    done: str
    well: float = 0.0
    """Seconds from when it was started again until calls were answered well."""
    healthy: float = 0.0
    """The same until every server said that it is ready and nothing is worse."""
    cost: Counter[str] = field(default_factory=Counter)
    """How requests ended meanwhile that were not answered well."""


class Drills:
    """All drills, in their order."""

    def __init__(self, site: Site, crowd: Crowd) -> None:
        self._site, self._crowd = site, crowd
        self._key = site.key("drill@example.com")
        self.done: list[Drill] = []

    def all(self) -> Iterator[Callable[[], Drill]]:
        """Each drill."""
        one, two, three = self._site.servers
        shared = {part.name: part for part in self._site.shared}
        yield lambda: self._server(one)
        yield lambda: self._switch(1)
        yield lambda: self._server(two)
        yield lambda: self._part(shared["Redis"])
        yield lambda: self._part(shared["PostgreSQL"])
        yield lambda: self._part(shared["object store"])
        yield lambda: self._nightly(2)
        yield lambda: self._part(self._site.balancer)
        yield lambda: self._restart(three)
        yield self._withdraw

    def run(self, drill: Callable[[], Drill]) -> Drill:
        """Make one, and note what it cost."""
        before = self._crowd.tally.all()
        try:
            found = drill()
        except (AssertionError, OSError, RuntimeError, subprocess.SubprocessError) as error:
            found = Drill("a drill", "did not come to its end")
            self._crowd.tally.wrong.append(Wrong("parts that were not well again", repr(error)))
        found.cost = self._crowd.tally.all() - before
        self.done.append(found)
        return found

    def _server(self, server: Serving) -> Drill:
        server.kill()
        began = time.monotonic()
        server.start()
        return self._after(Drill(server.folder.name, "kill -9"), began)

    def _restart(self, server: Serving) -> Drill:
        server.stop()
        began = time.monotonic()
        server.start()
        return self._after(Drill(server.folder.name, "stopped, started"), began)

    def _part(self, part: Part) -> Drill:
        part.kill()
        threading.Event().wait(AWAY)
        began = time.monotonic()
        part.start()
        return self._after(Drill(part.name, f"kill -9, away {AWAY:.0f} s"), began)

    def _switch(self, number: int) -> Drill:
        self._site.publish(number)
        drill = Drill("night", "switched by a nightly")
        return self._served(drill, self._site.nights.versions[number])

    def _nightly(self, number: int) -> Drill:
        """Kill a nightly between its first object and its commit, and run it again."""
        site, version = self._site, self._site.nights.versions[number]
        given = environment(site.nightly_folder, **site.environment)
        process = subprocess.Popen(
            site.nights.command(SESSIONS[number]),
            env=given,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while process.poll() is None and not any(version in one for one in site.objects.names()):
            time.sleep(0.005)
        process.kill()
        process.wait()
        began = time.monotonic()
        when = "before" if site.publish(number) else "after"
        drill = self._served(Drill("nightly", f"kill -9 {when} its commit, run again"), version)
        drill.well = time.monotonic() - began
        return drill

    def _withdraw(self) -> Drill:
        site, (_, older, newest) = self._site, self._site.nights.versions
        given = environment(site.nightly_folder, **site.environment)
        command = [*COMMAND, "night", "withdraw", newest, "--reason", "A drill."]
        subprocess.run(command, env=given, check=True, capture_output=True, timeout=120)
        drill = self._served(Drill("night", "withdrawn"), older)
        site.nights.truth.is_gone(newest, time.monotonic())
        return drill

    def _served(self, drill: Drill, version: str) -> Drill:
        """Wait until every server serves a night."""
        began = time.monotonic()
        for server in self._site.servers:
            until(lambda s=server: _serves(s) == version, OUGHT)  # type: ignore[misc]
        drill.well = time.monotonic() - began
        return self._after(drill, began, well=drill.well)

    def _after(self, drill: Drill, began: float, well: float | None = None) -> Drill:
        """Wait until all is well."""
        if well is None:
            for server in (*self._site.servers, self._site):
                until(lambda s=server: self._answers(s), OUGHT)  # type: ignore[misc]
        drill.well = time.monotonic() - began if well is None else well
        for server in self._site.servers:
            until(lambda s=server: _is_well(s), OUGHT)  # type: ignore[misc]
        drill.healthy = time.monotonic() - began
        return drill

    def _answers(self, place: Serving | Site) -> bool:
        """Whether calls with and without a key are answered well."""
        with suppress(httpx.HTTPError), client_of(place, self._key) as keyed:
            with client_of(place) as keyless:
                asked = (keyed.get("/api/v1/tickers"), keyless.get(KEYLESS[0]))
            return all(answer.status_code == 200 for answer in asked)
        return False


def _serves(server: Serving) -> str:
    with suppress(httpx.HTTPError), client_of(server) as client:
        return next(iter(versions(client.get(KEYLESS[0]).content)), "")
    return ""


def _is_well(server: Serving) -> bool:
    found = health(server)
    # The bars are old, and are to be.
    return found is not None and set(found) <= {"night"}

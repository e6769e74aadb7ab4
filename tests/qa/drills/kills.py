"""Kills and stops: of the server and of workers, while everything is written."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress

from store.accounts.usage import FLUSH_SECONDS
from tests.qa.drills.drill import Drill
from tests.screener.process import until

SEED = 7
SERVERS, WORKERS, STOPS = 8, 4, 3
STORM_SECONDS = 8.0
LATE = FLUSH_SECONDS + 1.5
"""Seconds of calls that a kill may cost the usage log: those since its last write."""
KINDS = "account, key, watchlist, session, grant, tokens, audit and usage"


def kill_server(drill: Drill) -> None:
    """Kill the one process at random moments."""
    drill.made = f"{SERVERS} times at random moments, during writes of {KINDS}"
    moments, missing, oldest = random.Random(SEED), 0, 0.0
    with drill.server().running() as server:
        for number in range(SERVERS):
            crowd = drill.crowd(server, number)
            with crowd:
                time.sleep(moments.uniform(0.2, 2.5))
                server.kill()
                killed = time.monotonic()
            stored = crowd.caller.stored()
            count, age = crowd.caller.uncounted(killed)
            missing, oldest = max(missing, count), max(oldest, age)
            server.start()
            drill.seconds.append(server.ready())
            if crowd.caller.counted_today() != stored:
                drill.lost.append("the count of the day")
            drill.take(crowd)
    if oldest > LATE:
        drill.lost.append(f"usage counts of {oldest:.1f} s")
    drill.notes.append(f"The usage log missed up to {missing} calls of the last {oldest:.1f} s")


def kill_worker(drill: Drill) -> None:
    """Kill one of two workers at random moments."""
    drill.made = f"{WORKERS} times at random moments, one of two, during writes of {KINDS}"
    moments = random.Random(SEED)
    with drill.server(workers=2).running() as server:
        until(lambda: len(server.workers()) == 2)
        for number in range(WORKERS):
            crowd = drill.crowd(server, number)
            with crowd:
                time.sleep(moments.uniform(0.2, 2.0))
                before = set(server.workers())
                os.kill(moments.choice(sorted(before)), signal.SIGKILL)
                with drill.timed():
                    until(lambda b=before: len(set(server.workers()) - b) == 1)  # type: ignore[misc]
                time.sleep(0.5)
            drill.take(crowd)
    drill.notes.append("A second worker answered meanwhile")


def worker_storm(drill: Drill) -> None:
    """Kill workers again and again, each as soon as it answers or before."""
    moments, kills = random.Random(11), 0
    with drill.server(workers=3).running() as server:
        until(lambda: len(server.workers()) == 3)
        crowd = drill.crowd(server)
        with crowd:
            end = time.monotonic() + STORM_SECONDS
            while time.monotonic() < end:
                for pid in sorted(server.workers())[1:]:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                        kills += 1
                time.sleep(moments.uniform(0.2, 1.0))
            with drill.timed():
                until(lambda: len(server.workers()) == 3, 90)
                until(lambda: all(server.answers() for _ in range(20)))
            drill.check(so=server.process.poll() is None, wrong="the service ended")
        drill.take(crowd)
    drill.made = f"{kills} kills in {STORM_SECONDS:.0f} s, two of three workers"


def stops(drill: Drill) -> None:
    """SIGTERM while requests are under way, then a start: nothing that was begun is cut off."""
    drill.made = f"{STOPS} times with 1 process and with 2, during reads and writes"
    for workers in (1, 2):
        with drill.server(drill.data(f"data-{workers}"), workers=workers).running() as server:
            for number in range(STOPS):
                crowd = drill.crowd(server, number)
                with crowd:
                    time.sleep(1)
                    server.process.terminate()
                    code = server.process.wait(90)
                drill.seen[f"exit code {code}"] += 1
                if missing := len(crowd.caller.answered) - crowd.caller.stored():
                    drill.lost.append(f"{missing} usage counts")
                server.start()
                drill.seconds.append(server.ready())
                drill.take(crowd)

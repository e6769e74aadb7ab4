"""Kills: SIGKILL to the server, to a worker and to the nightly, while everything is written."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

from store.usage import FLUSH_SECONDS
from tests.faults.crowd import Crowd
from tests.faults.found import Found
from tests.faults.nights import Nights
from tests.faults.serving import Serving, served
from tests.screener.process import until

SEED = 7
SERVERS, WORKERS = 8, 4
LATE = FLUSH_SECONDS + 1.5
"""Seconds of calls that a kill may cost the usage log: those since its last write."""
KINDS = "account, key, watchlist, session, grant, tokens, audit and usage"


def server(folder: Path, nights: Nights) -> Found:
    """Kill the one process at random moments."""
    found, moments = Found(), random.Random(SEED)
    found.made = f"{SERVERS} times at random moments, during writes of {KINDS}"
    serving = Serving(nights.copied(folder / "data"))
    serving.start()
    serving.ready()
    missing, oldest = 0, 0.0
    try:
        for number in range(SERVERS):
            crowd = Crowd(serving, nights.truth, email=f"caller{number}@example.com")
            with crowd:
                time.sleep(moments.uniform(0.2, 2.5))
                serving.kill()
                killed = time.monotonic()
            stored = crowd.caller.stored()
            count, age = crowd.caller.uncounted(killed)
            missing, oldest = max(missing, count), max(oldest, age)
            serving.start()
            found.seconds.append(serving.ready())
            if crowd.caller.counted_today() != stored:
                found.lost.append("the count of the day")
            collect(found, crowd)
    finally:
        serving.stop()
    if oldest > LATE:
        found.lost.append(f"usage counts of {oldest:.1f} s")
    found.notes.append(f"The usage log missed up to {missing} calls of the last {oldest:.1f} s")
    return found


def worker(folder: Path, nights: Nights) -> Found:
    """Kill one of two workers at random moments."""
    found, moments = Found(), random.Random(SEED)
    found.made = f"{WORKERS} times at random moments, one of two, during writes of {KINDS}"
    with served(nights.copied(folder / "data"), workers=2) as serving:
        until(lambda: len(serving.workers()) == 2)
        for number in range(WORKERS):
            crowd = Crowd(serving, nights.truth, email=f"caller{number}@example.com")
            with crowd:
                time.sleep(moments.uniform(0.2, 2.0))
                before = serving.workers()
                os.kill(moments.choice(before), signal.SIGKILL)
                began = time.monotonic()
                until(lambda b=before: len(set(serving.workers()) - set(b)) == 1)  # type: ignore[misc]
                found.seconds.append(time.monotonic() - began)
                time.sleep(0.5)
            collect(found, crowd)
    found.notes.append("A second worker answered meanwhile")
    return found


def collect(found: Found, crowd: Crowd) -> None:
    """Note what a crowd has seen, and what it misses."""
    found.seen.update(crowd.seen)
    found.lost += crowd.lost()
    found.wrong += crowd.all_wrong

"""Fresh services: how fast the service starts, and its memory after a few requests of each kind."""

from __future__ import annotations

import statistics
import time
from contextlib import ExitStack
from dataclasses import dataclass

from benchmarks.serving.load import Loader
from benchmarks.serving.process import Memory
from benchmarks.serving.rounds import Contender, warm
from benchmarks.serving.stage import Books, cases_of

ASKED = 100
"""Requests of each kind."""


@dataclass(frozen=True)
class Fresh:
    """The cost of starting a service, medians of starts of which all but the first find that the
    book was verified before.
    """

    seconds: float
    """Seconds from spawn to the first 200."""
    cpu_seconds: float
    """CPU seconds until then, which depend less on other work on the machine."""
    memory: Memory
    """The memory of the last service at rest, after requests of each kind."""


def start_fresh(books: Books, name: str, loader: Loader, times: int) -> Fresh:
    """Start one of the services a few times, and ask the last one for everything.

    This comes before the bursts: a rate limit's moving window keeps an entry per call for a
    minute, so bursts would add memory that a limited key never uses.
    """
    seconds, cpu = [], []
    for _ in range(times):
        with ExitStack() as stack:
            began = time.perf_counter()
            server = books.serve(stack, name)
            seconds.append(time.perf_counter() - began)
            cpu.append(server.cpu())
            if len(seconds) == times:
                asked = (Contender(name, server, case) for case in cases_of(books, server))
                warm(asked, loader, books.keys, ASKED)
                server.settled_cpu()
                memory = server.memory()
    return Fresh(statistics.median(seconds), statistics.median(cpu), memory)

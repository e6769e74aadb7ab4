"""Fresh services: how fast the service starts, and its memory after a few requests of each kind."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from benchmarks.serving.load import Loader
from benchmarks.serving.process import Memory
from benchmarks.serving.rounds import Contender, warm
from benchmarks.serving.stage import Stage, start_service

SPAWNS = 5


@dataclass(frozen=True)
class Fresh:
    """The cost of starting a service with the largest book, which was verified before."""

    symbols: int
    seconds: Sequence[float]
    """Seconds from spawn to the first 200, one value per start."""
    cpu_seconds: Sequence[float]
    """CPU seconds until then, which do not depend on other work on the machine."""
    memory: Memory
    """The memory of the last service, after 800 requests to each path."""


def start_fresh(stage: Stage, loader: Loader) -> Fresh:
    """Start the service a few times.

    Memory is read here and not after the bursts: a rate limit's moving window keeps an entry per
    call for a minute, so bursts would add memory that a limited key never uses.
    """
    symbols = max(stage.services)
    seconds, cpu = [], []
    for _ in range(SPAWNS):
        with ExitStack() as stack:
            began = time.perf_counter()
            server = start_service(
                stack, stage.folder / f"data-{symbols}", stage.folder, stage.keys[0]
            )
            seconds.append(time.perf_counter() - began)
            cpu.append(server.cpu())
            if len(seconds) == SPAWNS:
                warm(
                    [Contender("ours", server, case, 1) for case in stage.cases], loader, stage.keys
                )
                memory = server.memory()
    return Fresh(symbols, seconds, cpu, memory)

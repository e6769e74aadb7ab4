"""Fresh services: how soon one more answers, and how large it is after a little of everything."""

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
    """What starting a service over the largest book, verified before, took."""

    symbols: int
    seconds: Sequence[float]
    """From spawn to the first 200, one a start."""
    cpu_seconds: Sequence[float]
    """CPU until then, which other work on the machine does not stretch."""
    memory: Memory
    """Of the last one, after 200 requests to each path."""


def start_fresh(stage: Stage, loader: Loader) -> Fresh:
    """Start it a few times.

    Memory is read here and not after the bursts: the moving window of a limit keeps an entry a call
    for a minute, so bursts of a key that nothing limits would be counted as memory.
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

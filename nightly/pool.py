"""The pool: work on many symbols, in order, over some processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import TypeVar

from nightly.errors import NightlyError

BATCH = 128
"""Symbols of one piece of work at most: about 650,000 bars, 30 MB."""

INLINE = 16
"""Up to this many symbols a process of their own is not worth its start."""

T = TypeVar("T")
R = TypeVar("R")


def default_jobs() -> int:
    """As many processes as the machine has cores for this one."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def batches(items: Sequence[T], jobs: int) -> list[Sequence[T]]:
    """Pieces of consecutive items, small enough that every process stays busy to the end."""
    size = max(1, min(BATCH, len(items) // (8 * jobs) + 1))
    return [items[start : start + size] for start in range(0, len(items), size)]


def run(work: Callable[[T], R], tasks: Sequence[T], jobs: int) -> Iterator[R]:
    """The results of every task, in the order of the tasks."""
    if jobs == 1:
        yield from map(work, tasks)
        return
    # Forking a process whose libraries run threads can deadlock, so every worker starts afresh.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(jobs, mp_context=context) as executor:
        try:
            yield from executor.map(work, tasks)
        except BrokenProcessPool as error:
            raise NightlyError(
                "A worker process died, perhaps for want of memory; run it again with fewer --jobs."
            ) from error

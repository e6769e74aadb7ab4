"""The pool: work on many symbols, in order, by the processes of this machine or of a cluster.

Only the tasks next in line are under way, so finished work never piles up, however large the
market and however slow what comes after.
"""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from typing import TypeVar

from nightly.errors import WorkerError

BATCH = 128
"""Symbols of one piece of work at most: about 650,000 bars, 30 MB."""

INLINE = 16
"""Up to this many symbols a process of their own is not worth its start."""

AHEAD = 3
"""Tasks under way for each process: one at work, one waiting for it, one waiting for its turn."""

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Pool:
    """Who does the work: an executor and how many tasks it can do at a time."""

    executor: Executor | None
    """None: this very process."""
    jobs: int

    def run(self, work: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """The results of every task, in the order of the tasks.

        Raises:
            WorkerError: a process died.
        """
        if self.executor is None:
            yield from map(work, tasks)
            return
        under_way: deque[Future[R]] = deque()
        try:
            for task in tasks:
                under_way.append(self.executor.submit(work, task))
                if len(under_way) == AHEAD * self.jobs:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        except BrokenExecutor as error:
            raise WorkerError(
                "A worker process died, perhaps for want of memory; run it again with fewer --jobs."
            ) from error


def default_jobs() -> int:
    """As many processes as the machine has cores for this one."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def batches(items: Sequence[T], jobs: int) -> list[Sequence[T]]:
    """Pieces of consecutive items, small enough that every process stays busy to the end."""
    size = max(1, min(BATCH, len(items) // (8 * jobs) + 1))
    return [items[start : start + size] for start in range(0, len(items), size)]


@contextmanager
def local_pool(jobs: int) -> Iterator[Pool]:
    """The processes of this machine; this very one where one will do."""
    if jobs == 1:
        yield Pool(None, jobs)
        return
    # Forking a process whose libraries run threads can deadlock, so every worker starts afresh.
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(jobs, mp_context=context, initializer=_follow_parent)
    try:
        yield Pool(executor, jobs)
    except WorkerError:
        # A pool that breaks while it still starts a process waits for that one without end.
        for child in multiprocessing.active_children():
            child.kill()
        raise
    finally:
        executor.shutdown(cancel_futures=True)


def _follow_parent() -> None:
    """End this worker with its parent: one that is killed cannot tell it to."""
    Thread(target=_exit_after_parent, daemon=True).start()


def _exit_after_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)

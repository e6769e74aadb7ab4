"""The pool: runs tasks in the processes of this machine or of a cluster, with results in order.

Only a few tasks are submitted at a time, so finished results never pile up, even if the market is
large and their consumer slow.
"""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from typing import TypeVar

from nightly.errors import WorkerError

BATCH = 128
"""The most symbols in one task: about 650,000 bars, 30 MB."""

INLINE = 16
"""Up to this many symbols, starting worker processes does not pay."""

TURN_SECONDS = 0.5
"""How long Ctrl-C may go unheard while a task is under way."""

AHEAD = 3
"""Submitted tasks for each process: one running and two waiting."""

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Pool:
    """An executor and the number of tasks that it runs at a time."""

    executor: Executor | None
    """None runs the tasks in this process."""
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
                    yield _result(under_way.popleft())
            while under_way:
                yield _result(under_way.popleft())
        except (BrokenExecutor, BrokenPipeError) as error:
            # The pipe breaks if a process dies while it is being started.
            raise WorkerError(
                "A worker process died, perhaps out of memory; run it again with fewer --jobs."
            ) from error


def _result(future: Future[R]) -> R:
    """The result of a task. It waits in short turns, because Polars handles Ctrl-C in a way that
    lets one long wait go on.
    """
    while not wait((future,), TURN_SECONDS).done:
        pass
    return future.result()


def default_jobs() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def batches(items: Sequence[T], jobs: int) -> list[Sequence[T]]:
    """Split items into consecutive batches, small enough to keep every process busy to the end."""
    size = max(1, min(BATCH, len(items) // (8 * jobs) + 1))
    return [items[start : start + size] for start in range(0, len(items), size)]


@contextmanager
def local_pool(jobs: int) -> Iterator[Pool]:
    """A pool of processes on this machine; with one job, this process itself."""
    if jobs == 1:
        yield Pool(None, jobs)
        return
    # Forking a process whose libraries run threads can deadlock, so workers are spawned.
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(jobs, mp_context=context, initializer=follow_parent)
    try:
        yield Pool(executor, jobs)
    except (WorkerError, KeyboardInterrupt):
        # A pool that breaks while it is still starting a process would wait for it forever, and
        # one that is to end would wait until what is under way is done, or even compiled.
        for child in multiprocessing.active_children():
            child.kill()
        raise
    finally:
        executor.shutdown(cancel_futures=True)


def follow_parent() -> None:
    """End this process when its parent ends, because a killed parent cannot stop its children."""
    Thread(target=_exit_after_parent, daemon=True).start()


def _exit_after_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)

"""The pool: runs tasks in the processes of this machine or of a cluster, with results in order.

On this machine the process that asks works too: while the others start, and whenever each of them
has enough to do. Only a few tasks are submitted at a time, so finished results never pile up, even
if the market is large and their consumer slow.
"""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Thread
from typing import TypeVar

from screener.nightly.errors import WorkerError

BATCH = 128
"""The most symbols in one task: about 650,000 bars, 30 MB."""

INLINE = 16
"""Up to this many symbols, starting worker processes does not pay."""

INLINE_LATER = 2048
"""The limit where the results of the last night can be continued: 1.5 s of work."""

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
    helped: bool = False
    """Whether this process runs tasks too."""

    def run(self, work: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """The results of every task, in the order of the tasks.

        Raises:
            WorkerError: a process died.
        """
        if self.executor is None:
            yield from map(work, tasks)
            return
        under_way: deque[Future[R]] = deque()
        most = AHEAD * (self.jobs + self.helped)
        try:
            started = self._starting(self.executor, work)
            for task in tasks:
                room = AHEAD * sum(start.done() for start in started)
                if not self.helped or sum(not one.done() for one in under_way) < room:
                    under_way.append(self.executor.submit(work, task))
                else:
                    under_way.append(_done(work(task)))
                while under_way and (len(under_way) == most or under_way[0].done()):
                    yield _result(under_way.popleft())
            while under_way:
                yield _result(under_way.popleft())
        except (BrokenExecutor, BrokenPipeError) as error:
            # The pipe breaks if a process dies while it is being started.
            raise WorkerError(
                "A worker process died, perhaps out of memory; run it again with fewer --jobs."
            ) from error

    def _starting(self, executor: Executor, work: Callable[[T], R]) -> list[Future[None]]:
        """The start of each process beside this one: done once it has imported the work, which
        takes about a second, in which a task that waits for it would be done here.
        """
        return [executor.submit(_import, work) for _ in range(self.jobs)] if self.helped else []


def _import(_work: Callable[..., object]) -> None:
    """Do nothing: what is imported is imported with the argument."""


def _done(result: R) -> Future[R]:
    future: Future[R] = Future()
    future.set_result(result)
    return future


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


def in_threads(
    work: Callable[[T], None],
    items: Collection[T],
    threads: int,
    step: Callable[[int, int], None],
) -> None:
    """Do work that mostly waits for a network in some threads. `step` is called with the number of
    items that are done, and of all.
    """
    executor = ThreadPoolExecutor(threads)
    try:
        for done, _ in enumerate(Pool(executor, threads).run(work, items)):
            step(done, len(items))
    finally:
        executor.shutdown(cancel_futures=True)
    step(len(items), len(items))


@contextmanager
def local_pool(jobs: int) -> Iterator[Pool]:
    """A pool of processes on this machine, of which this one is one."""
    if jobs == 1:
        yield Pool(None, jobs)
        return
    # Forking a process whose libraries run threads can deadlock, so workers are spawned.
    context = multiprocessing.get_context("spawn")
    others = set(multiprocessing.active_children())
    executor = ProcessPoolExecutor(jobs - 1, mp_context=context, initializer=_begin)
    try:
        yield Pool(executor, jobs - 1, helped=True)
    finally:
        # At the end they idle, or are starting still. In trouble, a pool that breaks while it is
        # still starting a process would wait for it forever, and one that is to end would wait
        # until what is under way is done, or even compiled.
        for child in set(multiprocessing.active_children()) - others:
            child.kill()
        executor.shutdown(cancel_futures=True)


def _begin() -> None:
    """Prepare a worker: it ends with its parent, and as every core has a process of its own,
    Polars, which is not imported yet, needs no threads.
    """
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    follow_parent()


def follow_parent() -> None:
    """End this process when its parent ends, because a killed parent cannot stop its children."""
    Thread(target=_exit_after_parent, daemon=True).start()


def _exit_after_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)

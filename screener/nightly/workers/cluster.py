"""The cluster: a pool of Dask workers, for a market that is too large for one machine.

Every worker needs the same version of the program, and must reach the bars: in the store of the
scratch, or under the same path. Dask's nanny replaces a worker that dies, and the scheduler gives
its tasks to others a few times. A cluster without any worker is given up after a while.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from screener.nightly.errors import NightlyError, WorkerError
from screener.nightly.pool import Pool

SCHEME = "dask://"

CONNECT_SECONDS = 15
"""How long to wait for the scheduler's first answer."""

ALONE_SECONDS = 60.0
"""How long a cluster may be without any worker until the run ends."""

LOOK_SECONDS = 1.0
"""How often the workers are counted."""

RETRIES = 2
"""How many times Dask repeats a task that failed."""


@contextmanager
def cluster_pool(address: str) -> Iterator[Pool]:
    """The workers behind `dask://HOST:PORT`.

    Raises:
        NightlyError: the address is malformed, Dask is not installed, or no scheduler answers.
        WorkerError: a task killed several workers, or the scheduler disappeared.
    """
    if not address.startswith(SCHEME):
        raise NightlyError(f"--executor {address!r} is not an address; write {SCHEME}HOST:PORT.")
    try:
        distributed: Any = importlib.import_module("distributed")
    except ImportError as error:
        raise NightlyError(
            "--executor needs Dask, which is not installed; `make install` in the checkout adds it."
        ) from error
    place = "tcp://" + address.removeprefix(SCHEME)
    try:
        client = distributed.Client(place, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError) as error:
        raise NightlyError(f"No Dask scheduler answers at {address}; start it first.") from error
    try:
        threads = sum(client.nthreads().values())
        if not threads:
            raise NightlyError(f"The Dask scheduler at {address} has no worker; start one.")
        executor = client.get_executor(pure=False, retries=RETRIES)
        with _given_up(executor, lambda: len(client.nthreads())):
            yield Pool(executor, threads)
    except (distributed.KilledWorker, CancelledError) as error:
        raise WorkerError(
            f"Workers of {address} keep dying, perhaps out of memory, or all are gone; read their "
            "logs, and start them again."
        ) from error
    finally:
        client.close()


@contextmanager
def _given_up(executor: Executor, workers: Callable[[], int]) -> Iterator[None]:
    """Cancel what is under way within the block once there was no worker for so long."""
    over = Event()

    def watch() -> None:
        seen = time.monotonic()
        while not over.wait(LOOK_SECONDS):
            if _counted(workers):
                seen = time.monotonic()
            elif time.monotonic() - seen > ALONE_SECONDS:
                executor.shutdown(wait=False)
                return

    watcher = Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _counted(workers: Callable[[], int]) -> int:
    """The number of workers; 0 if the scheduler does not answer."""
    try:
        return workers()
    except (OSError, TimeoutError, ValueError):
        return 0

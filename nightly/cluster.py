"""The cluster: a pool of Dask workers, for a market that is too large for one machine.

Every worker needs the same version of the program and must see the bars under the same path. Dask's
nanny replaces a worker that dies, and the scheduler gives its tasks to others a few times.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any

from nightly.errors import NightlyError, WorkerError
from nightly.pool import Pool

SCHEME = "dask://"

CONNECT_SECONDS = 15
"""How long to wait for the scheduler's first answer."""

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
            "--executor needs Dask, which is not installed; `make install` in the checkout does it."
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
        yield Pool(client.get_executor(pure=False, retries=RETRIES), threads)
    except (distributed.KilledWorker, CancelledError) as error:
        raise WorkerError(
            f"Workers of {address} keep dying, perhaps out of memory; read their logs."
        ) from error
    finally:
        client.close()

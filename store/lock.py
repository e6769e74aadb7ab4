"""Lock: one writer at a time on a data folder. It knows files and clocks, no nights.

The operating system frees the lock of a process that ends, however it ends, so none is ever stale.
"""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from store.errors import BusyError

LOCK = "nightly.lock"


@contextmanager
def locked(data_dir: Path, now: dt.datetime) -> Iterator[None]:
    """Hold a data folder for as long as something is written there.

    Raises:
        BusyError: another process holds it; the text says which and since when.
    """
    path = data_dir / LOCK
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise BusyError(
            f"Another run is going on {data_dir} ({_holder(path)}); wait for it to end."
        ) from error
    try:
        path.write_text(f"process {os.getpid()}, since {now:%Y-%m-%d %H:%M:%S} UTC")
        yield
    finally:
        lock.release()


def _holder(path: Path) -> str:
    try:
        return path.read_text() or "it has just begun"
    except OSError:
        return "which one is not known"

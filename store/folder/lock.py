"""Lock: only one process at a time may write in a data folder.

The operating system releases the lock when its process ends, however it ends, so a lock is never
stale. This module knows files and clocks, not nights.
"""

from __future__ import annotations

import datetime as dt
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from store.errors import BusyError

LOCK = "nightly.lock"

LOOK_SECONDS = 1.0
"""Seconds to wait for the lock, which whoever looks at it holds for an instant."""

STAGE = ".restore"
"""The folder in the data folder in which a restore puts everything first."""

READY = "ready"
"""The file in that folder that says that all is in it, under which mark the restore runs, and into
which database."""


def restore_is_pending(data_dir: Path) -> bool:
    """Whether a restore was killed, or is at work, at a moment when all of it was ready."""
    return (data_dir / STAGE / READY).exists()


def refuse_over_restore(data_dir: Path) -> None:
    """Check that no restore is between its two states.

    Raises:
        BusyError: one is, and still at work or killed.
    """
    if restore_is_pending(data_dir):
        raise BusyError(
            f"A restore into {data_dir} is running or was killed before it ended; run `screener "
            "restore` again, or start `screener serve`, which ends it."
        )


@contextmanager
def locked(data_dir: Path, now: dt.datetime, *, restoring: bool = False) -> Iterator[None]:
    """Hold the lock of a data folder until the block ends.

    Raises:
        BusyError: another process holds the lock; the message says which one and since when. Or a
            killed restore must be ended first, and this is not what ends it.
    """
    path = data_dir / LOCK
    lock = FileLock(path, mode=0o600)
    try:
        lock.acquire(timeout=LOOK_SECONDS)  # `holder` may have it for an instant
    except Timeout as error:
        raise BusyError(
            f"Another run is writing in {data_dir} ({_holder(path)}); wait for it to end."
        ) from error
    try:
        if not restoring:  # looked at under the lock, since it may be killed until then
            refuse_over_restore(data_dir)
        path.write_text(f"process {os.getpid()}, since {now:%Y-%m-%d %H:%M:%S} UTC")
        yield
    finally:
        lock.release()


def _holder(path: Path) -> str:
    try:
        return path.read_text() or "it has just started"
    except OSError:
        return "process unknown"


def holder(data_dir: Path) -> str | None:
    """Which process holds the lock of a data folder, and since when; None if none does."""
    path = data_dir / LOCK
    try:
        with path.open("rb") as file:
            # Shared, so that those who only look do not hold up each other.
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder(path)
    except OSError:
        return None
    return None

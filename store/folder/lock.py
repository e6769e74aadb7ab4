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
from store.folder.layout import DataFolder

LOOK_SECONDS = 1.0
"""Seconds to wait for the lock, which whoever looks at it holds for an instant."""


def restore_is_pending(data_dir: Path) -> bool:
    """Whether a restore was killed, or is at work, at a moment when all of it was ready."""
    return DataFolder(data_dir).stage_ready.exists()


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
    path = DataFolder(data_dir).lock
    lock = FileLock(path, mode=0o600)
    try:
        lock.acquire(timeout=LOOK_SECONDS)  # `holder` may have it for an instant
    except Timeout as error:
        raise BusyError(
            f"Another run is writing in {data_dir} ({_named(path)}); wait for it to end, or stop "
            "that process: it then changes all that it was about to, or nothing."
        ) from error
    try:
        if not restoring:  # looked at under the lock, since it may be killed until then
            refuse_over_restore(data_dir)
        path.write_text(f"process {os.getpid()}, since {now:%Y-%m-%d %H:%M:%S} UTC")
        yield
    finally:
        lock.release()


def holder(data_dir: Path) -> str | None:
    """Which process holds the lock of a data folder, and since when; None if none does."""
    path = DataFolder(data_dir).lock
    try:
        with path.open("rb") as file:
            # Shared, so that those who only look do not hold up each other.
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _named(path)
    except OSError:
        return None
    return None


def lives(process: int) -> bool:
    """Whether a process of this machine is running."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _named(path: Path) -> str:
    try:
        return path.read_text() or "it has just started"
    except OSError:
        return "process unknown"

"""The lock: one writer at a time in a data folder, and no stale lock."""

from __future__ import annotations

import datetime as dt
import fcntl
import os
import threading
from pathlib import Path

import pytest
from filelock import FileLock

from store.errors import BusyError
from store.folder.layout import READY, STAGE, DataFolder
from store.folder.lock import locked

NOW = dt.datetime(2026, 1, 2, 21, 30, tzinfo=dt.UTC)


def test_a_second_run_is_told_who_holds_the_folder_and_since_when(tmp_path: Path) -> None:
    held = f"process {os.getpid()}, since 2026-01-02 21:30:00 UTC.*or stop that process"
    with locked(tmp_path, NOW), pytest.raises(BusyError, match=held), locked(tmp_path, NOW):
        pass

    with locked(tmp_path, NOW):
        pass


def test_a_run_that_waited_for_a_restore_that_was_killed_does_not_begin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed_before(lock: FileLock, timeout: float) -> None:
        (tmp_path / STAGE).mkdir()
        (tmp_path / STAGE / READY).touch()
        acquire(lock, timeout=timeout)

    acquire = FileLock.acquire
    monkeypatch.setattr(FileLock, "acquire", killed_before)
    with pytest.raises(BusyError, match="screener restore"), locked(tmp_path, NOW):
        pass
    monkeypatch.undo()
    with locked(tmp_path, NOW, restoring=True):  # it is free again
        pass


def test_whoever_looks_at_the_lock_costs_no_run(tmp_path: Path) -> None:
    with locked(tmp_path, NOW):
        pass
    with DataFolder(tmp_path).lock.open("rb") as looking:
        fcntl.flock(looking, fcntl.LOCK_SH)
        threading.Timer(0.1, fcntl.flock, (looking, fcntl.LOCK_UN)).start()
        with locked(tmp_path, NOW):
            pass

"""Processes that are killed while they write: nothing of them is left that harms anybody."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from store.errors import BusyError
from store.lock import locked
from store.progress import STOPPED, ProgressFile

NOW = dt.datetime(2026, 1, 2, 21, 30, tzinfo=dt.UTC)

LOCKED = """
import sys, datetime as dt
from pathlib import Path
from store.lock import locked
with locked(Path(sys.argv[1]), dt.datetime(2026, 1, 2, 21, tzinfo=dt.UTC)):
    print("held", flush=True)
    sys.stdin.read()
"""

RECORDING = """
import sys
from pathlib import Path
from store.progress import ProgressFile
with ProgressFile(Path(sys.argv[1])).recording("bars") as record:
    record.step("finding patterns", 3, 9)
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def killed(program: str, folder: Path) -> Iterator[tuple[int, IO[str]]]:
    """A program on a folder, which is killed at the end of the block; its id and its output."""
    command = [sys.executable, "-c", program, str(folder)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process.pid, process.stdout
        process.kill()


def test_a_killed_holder_of_the_lock_blocks_nobody(tmp_path: Path) -> None:
    with killed(LOCKED, tmp_path) as (process_id, output):
        assert output.readline() == "held\n"
        with pytest.raises(BusyError, match=f"process {process_id}"), locked(tmp_path, NOW):
            pass

    with locked(tmp_path, NOW):
        pass


def test_a_killed_run_is_not_at_work_for_ever(tmp_path: Path) -> None:
    with killed(RECORDING, tmp_path) as (_, output):
        assert output.readline() == "held\n"
        during = ProgressFile(tmp_path).read()
    after = ProgressFile(tmp_path).read()

    assert during is not None
    assert during.working
    assert after is not None
    assert (after.state, after.message) == ("failed", STOPPED)

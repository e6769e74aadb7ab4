"""A run that is killed leaves nothing that harms anybody."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from pathlib import Path

import pytest

from store.errors import BusyError
from store.folder.lock import locked
from store.folder.progress import STOPPED, ProgressFile

NOW = dt.datetime(2026, 1, 2, 21, 30, tzinfo=dt.UTC)

RUN = """
import sys
from pathlib import Path
from store.folder.progress import ProgressFile
folder = Path(sys.argv[1])
with ProgressFile(folder).recording("bars") as record:
    record.step("finding patterns", 3, 9)
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_killed_run_is_not_at_work_for_ever_and_its_lock_blocks_nobody(tmp_path: Path) -> None:
    command = [sys.executable, "-c", RUN, str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        during = ProgressFile(tmp_path).read()
        with pytest.raises(BusyError, match=f"process {process.pid}"), locked(tmp_path, NOW):
            pass
        process.kill()
    after = ProgressFile(tmp_path).read()

    assert during is not None
    assert during.working
    assert after is not None
    assert (after.state, after.message) == ("failed", STOPPED)
    with locked(tmp_path, NOW):
        pass

"""Processes that are killed while they write: nothing of them is left that harms anybody."""

from __future__ import annotations

import datetime as dt
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import IO

import pytest

from store.accounts import Accounts, Plan
from store.errors import BusyError
from store.lock import locked
from store.progress import STOPPED, ProgressFile
from tests.accounts import accounts_in

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

WRITER = """
import asyncio, sys
from pathlib import Path
from store.database import Database
from store.keys import Keys

async def main():
    keys = Keys(Database(f"sqlite+aiosqlite:///{Path(sys.argv[1]) / 'accounts.sqlite'}"))
    while True:
        key, _ = await keys.create("ada@example.com", "laptop")
        await keys.revoke(key.prefix)
        print(key.prefix, flush=True)

asyncio.run(main())
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


@pytest.mark.parametrize("lines", [1, 3, 7, 20])
async def test_a_killed_process_leaves_each_change_with_its_event(
    tmp_path: Path, lines: int
) -> None:
    async with accounts_in(tmp_path) as database:
        await Accounts(database).add("ada@example.com", Plan.PREMIUM)
    with killed(WRITER, tmp_path) as (_, output):
        for _ in range(lines):
            output.readline()

    with closing(sqlite3.connect(tmp_path / "accounts.sqlite")) as connection:
        made = connection.execute("SELECT prefix FROM keys ORDER BY id").fetchall()
        revoked = connection.execute(
            "SELECT prefix FROM keys WHERE revoked_at IS NOT NULL ORDER BY id"
        ).fetchall()
        noted = {
            kind: connection.execute(
                "SELECT substr(subject, 1, 16) FROM audit WHERE kind = ? ORDER BY id", (kind,)
            ).fetchall()
            for kind in ("key_created", "key_revoked")
        }
    assert len(made) >= lines
    assert noted == {"key_created": made, "key_revoked": revoked}

"""The moments of some work: what a folder holds before each step in it, as a kill leaves it.

The interpreter tells an audit hook of each file that is about to be opened, renamed or removed.
The folder is copied then, unless it is as it was. What a process has not yet given to the system is
in no copy, as a kill would lose it.
"""

from __future__ import annotations

import multiprocessing
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from itertools import count
from pathlib import Path

from tests.screener.command import run

STEPS = (
    *("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod"),
    *("shutil.rmtree", "sqlite3.connect"),
)
UNREAD = ("accounts.sqlite-shm", "progress.json")
"""Files that change without another state: an index that is made again, and the clock's record."""


def moments(data: Path, copies: Path, *command: str, **settings: str) -> list[Path]:
    """The data folder before each step of a command that found it changed, in order, and as it is
    at the end.
    """
    return [*moments_of(partial(succeed, data, *command, **settings), data, copies), data]


def succeed(data: Path, *command: str, **settings: str) -> None:
    done = run(data, *command, **settings)
    assert done.returncode == 0, done.stderr


def moments_of(work: Callable[[], object], folder: Path, copies: Path) -> list[Path]:
    """A folder before each step of some work, which a process of its own does."""
    context = multiprocessing.get_context("forkserver")
    process = context.Process(target=watched, args=(work, folder, copies))
    process.start()
    process.join()
    assert process.exitcode == 0
    return sorted(copies.iterdir())


def watched(work: Callable[[], object], folder: Path, copies: Path) -> None:
    copies.mkdir()
    sys.addaudithook(watcher(folder, copies))
    work()


def digest(data: Path) -> str:
    """Of all that a folder holds."""
    whole = sha256()
    for path in sorted(data.rglob("*")):
        whole.update(f"{path.relative_to(data)}\0".encode())
        if path.is_file() and path.name not in UNREAD:
            whole.update(sha256(path.read_bytes()).digest())
    return whole.hexdigest()


def watcher(data: Path, copies: Path) -> Callable[[str, Sequence[object]], None]:
    """Copies the folder before each step in it."""
    numbers, seen, at_work = count(), set[str](), False

    def of_it(event: str, given: Sequence[object]) -> bool:
        within_a_folder = event in ("os.remove", "os.rmdir") and given[1] != -1
        return within_a_folder or str(data) in str(given[:2])

    def look(event: str, given: Sequence[object]) -> None:
        nonlocal at_work
        if at_work or event not in STEPS or not of_it(event, given):
            return
        at_work = True
        if (now := digest(data)) not in seen:
            seen.add(now)
            shutil.copytree(data, copies / f"{next(numbers):03}")
        at_work = False

    return look

"""The moments of a command: what its data folder holds before each step, as a kill leaves it.

    python -m tests.qa.process.moments DATA COPIES COMMAND...

The interpreter tells an audit hook of each file that is about to be opened, renamed or removed.
The folder is copied then, unless it is as it was. What a process has not yet given to the system is
in no copy, as a kill would lose it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from itertools import count
from pathlib import Path

from tests.screener.command import environment

STEPS = (
    *("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod"),
    *("shutil.rmtree", "sqlite3.connect"),
)
UNREAD = ("accounts.sqlite-shm", "progress.json")
"""Files that change without another state: an index that is made again, and the clock's record."""


def moments(data: Path, copies: Path, *command: str, **settings: str) -> list[Path]:
    """Run a command as a process; the data folder before each step that found it changed, in order,
    and as it is at the end.
    """
    words = [sys.executable, "-m", "tests.qa.process.moments", str(data), str(copies), *command]
    done = subprocess.run(
        words, env=environment(data, **settings), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return [*sorted(copies.iterdir()), data]


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


def main() -> None:
    """Run the command on the folder, and copy the folder at each moment."""
    from screener.commands.cli import app

    data, copies, *command = sys.argv[1:]
    Path(copies).mkdir()
    sys.addaudithook(watcher(Path(data), Path(copies)))
    app(command)


if __name__ == "__main__":
    main()

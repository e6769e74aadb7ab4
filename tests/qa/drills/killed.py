"""A command that is killed before its n-th change of a file: `python -m tests.qa.drills.killed`.

    FOLDER NUMBER COMMAND...

The interpreter tells an audit hook of each file that is about to be opened, renamed or removed.
With number 0 nothing is killed: each change is a line on stderr, so that whoever kills knows how
many there are, and what each of them is.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from itertools import count

CHANGING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def changes(event: str, given: Sequence[object]) -> str | None:
    """The path that an event is about to change; None if it changes none.

    The events are those of https://docs.python.org/3/library/audit_events.html.
    """
    if event == "open":
        flags = given[2]
        return str(given[0]) if isinstance(flags, int) and flags & CHANGING else None
    if event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.chmod"):
        return str(given[1] if event == "os.rename" else given[0])
    if event == "sqlite3.connect":
        return None if "immutable" in str(given[0]) else str(given[0])
    return None


def watch(folder: str, number: int) -> None:
    """Kill this process before its n-th change below a folder, or tell each on stderr."""
    numbers, own = count(1), os.getpid()

    def look(event: str, given: tuple[object, ...]) -> None:
        path = changes(event, given)
        if path is None or not path.startswith(folder) or os.getpid() != own:
            return
        at = next(numbers)
        if number == 0:
            os.write(2, f"change {event} {path[len(folder) :]}\n".encode())
        elif at == number:
            os.kill(own, signal.SIGKILL)

    sys.addaudithook(look)


def main() -> None:
    """Run the command."""
    folder, number, *command = sys.argv[1:]
    from screener.commands.cli import app

    watch(folder, int(number))
    app(command)


if __name__ == "__main__":
    main()

"""Watch: progress of long work on stderr, where that is a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)


class Watch:
    """Progress of some work on stderr, and how long each of its steps took."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}
        self._begun: dict[str, float] = {}

    def __call__(self, name: str, done: int, total: int) -> None:
        """Note that so much of a step is done."""
        count = f"{done:,}/{total:,}" if total else f"{done:,}" if done else ""
        if name not in self._tasks:
            for earlier in self._tasks.values():
                self._progress.update(earlier, completed=1, total=1, count="done")
            self._tasks[name] = self._progress.add_task(name, total=total or None, count=count)
            self._begun[name] = time.perf_counter()
        self._progress.update(self._tasks[name], completed=done, total=total or None, count=count)

    def seconds(self) -> dict[str, float]:
        """The seconds from the beginning of each step to that of the next, or to now."""
        ends = [*list(self._begun.values())[1:], time.perf_counter()]
        return {
            name: end - begin for (name, begin), end in zip(self._begun.items(), ends, strict=True)
        }


@contextmanager
def watched(console: Console | None = None) -> Iterator[Watch]:
    """Progress on a console, stderr if none is given: a bar for each step."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
    )
    console = console or Console(stderr=True)
    shown = console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=not shown) as progress:
        yield Watch(progress)

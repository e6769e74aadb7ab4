"""Watch: progress of long work on stderr, where that is a terminal."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
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
        if name not in self._tasks:
            self._tasks[name] = self._progress.add_task(name, total=total or None)
            self._begun[name] = time.perf_counter()
        self._progress.update(self._tasks[name], completed=done, total=total or None)

    def seconds(self) -> dict[str, float]:
        """The seconds from the beginning of each step to that of the next, or to now."""
        ends = [*list(self._begun.values())[1:], time.perf_counter()]
        return {
            name: end - begin for (name, begin), end in zip(self._begun.items(), ends, strict=True)
        }


@contextmanager
def watched() -> Iterator[Watch]:
    """Progress on stderr: a bar for each step."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    shown = console.is_terminal
    with Progress(*columns, console=console, transient=True, disable=not shown) as progress:
        yield Watch(progress)

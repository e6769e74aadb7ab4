"""Local counting: the windows of one machine, in memory that its workers may share."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path

from mcp_server.operations.counters import Counters, Lock, Moment, moment, open_shared
from mcp_server.operations.counting import (
    SECONDS_A_DAY,
    Asked,
    CountersFullError,
    Hit,
    Hits,
    Window,
)

FULL_SECONDS = 60
"""For which it is told that a call found no room."""

FULL = "No room is left to count the calls of more keys today."
GONE = "The files in which workers count together are gone; restart all workers."


class LocalCounting:
    """Counts in tables of memory; with a folder, in files there, which several processes share.

    Nothing here waits, so a call is counted before anything else runs in its process.
    """

    def __init__(self, clock: Callable[[], Moment] = moment, folder: Path | None = None) -> None:
        self._clock = clock
        self._folder = folder
        self._tables: dict[str, Counters] = {}
        self._lock: AbstractContextManager[object] = nullcontext()
        if folder is not None:  # one lock for all: windows that are asked together never wait twice
            self._lock = Lock(open_shared(folder / "lock", 0))
        self._full_at = -math.inf

    @property
    def fault(self) -> str | None:
        """What is worse than it should be: a table is full, or its file is gone."""
        if self._clock().monotonic - self._full_at < FULL_SECONDS:
            return FULL
        shared = all(table.is_shared() for table in self._tables.values())
        return None if shared else GONE

    def open(self, window: Window) -> Window:
        """Make the table of a window.

        Raises:
            CountersError: the folder cannot hold exact counts.
        """
        file = None if self._folder is None else self._folder / window.name
        self._tables[window.name] = Counters(window.size, window.seconds, window.per_day, file)
        return window

    async def hit(self, *asked: Asked) -> Hits:
        """Count one call in each window, if all have room.

        Raises:
            CountersFullError: a bucket is new, and every slot has calls of this day.
        """
        at = self._clock()
        try:
            with self._lock:
                each = self._count(asked, at)
        except CountersFullError:
            self._full_at = at.monotonic
            raise
        counted = all(hit.fits for hit in each)
        return Hits(counted, tuple(each), SECONDS_A_DAY - int(at.utc) % SECONDS_A_DAY)

    async def take_back(self, *asked: Asked) -> None:
        """Undo the newest hit of each bucket, as far as it is still in its window."""
        at = self._clock()
        with self._lock:
            self._undo(asked, at)

    async def resume(self, calls: Iterable[tuple[Window, str, int]]) -> None:
        """Take over how many calls of this UTC day a bucket has had; what has no room is left."""
        at = self._clock()
        with suppress(CountersFullError), self._lock:
            for window, bucket, number in calls:
                self._tables[window.name].resume(bucket, number, at)

    async def close(self) -> None:
        """Let go of the files."""
        for table in self._tables.values():
            table.close()
        if isinstance(self._lock, Lock):
            self._lock.close()

    def _count(self, asked: Sequence[Asked], at: Moment) -> list[Hit]:
        """The hit of each window. Under the lock, what is counted and undone was never counted."""
        each: list[Hit] = []
        try:
            for window, bucket in asked:
                each.append(self._tables[window.name].hit(bucket, at))
        except CountersFullError:
            self._undo(asked[: len(each)], at)
            raise
        if len(each) == 1 or all(hit.fits for hit in each):
            return each
        both = list(zip(asked, each, strict=True))
        self._undo([one for one, hit in both if hit.fits], at)
        return [_without(hit, window.size) if hit.fits else hit for (window, _), hit in both]

    def _undo(self, asked: Sequence[Asked], at: Moment) -> None:
        for window, bucket in asked:
            self._tables[window.name].take_back(bucket, at)


def _without(hit: Hit, size: int) -> Hit:
    """The state that a hit leaves when it is undone."""
    left = hit.left + 1
    return Hit(True, left, hit.reset if left < size else 0.0, hit.today - 1)

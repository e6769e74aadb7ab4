"""Local counting: the windows of one machine, in memory that its workers may share."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from mcp_server.limits.counters import (
    HEAD,
    LOCK_EX,
    LOCK_UN,
    Counters,
    Moment,
    Slot,
    locked,
    lockf,
    open_shared,
)
from mcp_server.limits.counting import (
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

READ, WRITE = HEAD.unpack_from, HEAD.pack_into
NEW = tuple.__new__
"""What the constructor of a named tuple calls, without the call of a function for each hit."""


class LocalCounting:
    """Counts in tables of memory; with a folder, in files there, which several processes share.

    Nothing here waits, so a call is counted before anything else runs in its process.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        utc: Callable[[], float] = time.time,
    ) -> None:
        self._monotonic = monotonic
        self._utc = utc
        self._folder = folder
        self._tables: dict[str, Counters] = {}
        # One lock for all tables: windows that are asked together never wait twice.
        self._file = None if folder is None else open_shared(folder / "lock", 0)
        self._full_at = -math.inf

    @property
    def fault(self) -> str | None:
        """What is worse than it should be: a table is full, or its file is gone."""
        if self._monotonic() - self._full_at < FULL_SECONDS:
            return FULL
        shared = all(table.is_shared() for table in self._tables.values())
        return None if shared else GONE

    def open(self, window: Window) -> Window:
        """Make the table of a window.

        Raises:
            CountersError: the folder cannot hold exact counts.
        """
        file = None if self._folder is None else self._folder / window.name
        self._tables[window.name] = Counters(window, file)
        return window

    def hit(self, *asked: Asked) -> Hits:
        """Count one call in each window, if all have room: all are read before one is written.

        Every call of the service runs through here, so it is one function: a call less of a
        function is worth more than its lines. It takes amortized constant time.

        Raises:
            CountersFullError: a bucket is new, and every slot has calls of this day.
        """
        counted, states, each, file = True, [], [], self._file
        if file is not None:
            lockf(file, LOCK_EX)
        try:
            # The time is that of the turn: in every ring it only goes on.
            at = now, utc = self._monotonic(), self._utc()
            second = int(utc)
            today = second // SECONDS_A_DAY
            for window, bucket in asked:
                table = self._tables[window.name]
                slot = table.known.get(bucket)
                if slot is None or table.tags[slot[1]] != slot[0]:
                    slot = self._slot(table, bucket, at)
                _, _, head, ring = slot
                day, calls, oldest, live, _ = READ(table.memory, head)
                if day != today and day != today + 1:
                    # Around midnight a clock may be set back: what was counted goes on.
                    day, calls = today, 0
                times, size, seconds = table.times, table.size, table.seconds
                while live and now - times[ring + oldest] >= seconds:
                    oldest, live = (oldest + 1) % size, live - 1
                fits = live < size and calls < table.per_day
                if not fits:
                    counted = False
                states.append((table, head, ring, day, calls, oldest, live, fits))
            for table, head, ring, day, calls, oldest, live, fits in states:
                times, size = table.times, table.size
                if counted:
                    times[ring + (oldest + live) % size] = now
                    live += 1
                    calls += 1
                WRITE(table.memory, head, day, calls, oldest, live, now)
                reset = table.seconds - (now - times[ring + oldest]) if live else 0.0
                each.append(NEW(Hit, (fits, size - live, reset, calls)))
        finally:
            if file is not None:
                lockf(file, LOCK_UN)
        return NEW(Hits, (counted, tuple(each), SECONDS_A_DAY - second % SECONDS_A_DAY))

    async def take_back(self, *asked: Asked) -> None:
        """Undo the newest hit of each bucket, as far as it is still in its window."""
        at = now, _ = self._monotonic(), self._utc()
        with suppress(CountersFullError), locked(self._file):
            for window, bucket in asked:
                table = self._tables[window.name]
                _, _, head, ring = table.slot(bucket, at)
                day, calls, oldest, live, _ = READ(table.memory, head)
                newest = ring + (oldest + live - 1) % table.size
                if live and now - table.times[newest] < table.seconds:
                    calls = max(0, calls - 1)
                    WRITE(table.memory, head, day, calls, oldest, live - 1, now)

    async def resume(self, calls: Iterable[tuple[Window, str, int]]) -> None:
        """Take over how many calls of this UTC day a bucket has had; what has no room is left."""
        at = now, utc = self._monotonic(), self._utc()
        today = int(utc) // SECONDS_A_DAY
        with suppress(CountersFullError), locked(self._file):
            for window, bucket, number in calls:
                table = self._tables[window.name]
                head = table.slot(bucket, at)[2]
                day, before, oldest, live, _ = READ(table.memory, head)
                if day not in (today, today + 1):
                    day, before = today, 0
                WRITE(table.memory, head, day, max(before, number), oldest, live, now)

    async def close(self) -> None:
        """Let go of the files."""
        for table in self._tables.values():
            table.close()
        if self._file is not None:
            self._file.close()

    def _slot(self, table: Counters, bucket: str, at: Moment) -> Slot:
        """The slot of a bucket whose place is not remembered.

        Raises:
            CountersFullError: every slot has calls of this day, which is told for a while.
        """
        try:
            return table.slot(bucket, at)
        except CountersFullError:
            self._full_at = at[0]
            raise

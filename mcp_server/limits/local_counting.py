"""Local counting: the windows of one machine, in blocks of memory that its workers may share.

A ring holds the hits of a bucket that are still in its moving window, in cells, oldest first; a
window of a minute has one of each second, whatever it allows. The slots are
an open-addressed hash table of fixed size, so memory does not grow with the number of callers, and
two buckets never share a slot. A bucket that finds none free near its place takes that of the
neighbour unseen for longest, unless days are counted: a count of a day is never given up, so the
new bucket is refused.
"""

from __future__ import annotations

import hashlib
import math
import mmap
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, LOCK_UN, lockf
from pathlib import Path
from struct import Struct
from typing import IO

from mcp_server.limits.counting import (
    SECONDS_A_DAY,
    Asked,
    CountersFullError,
    Hit,
    Hits,
    RateWindow,
)
from store.errors import StoreError

HEAD = Struct("5qd")
"""The start of a slot: the UTC day, its calls, all hits ever, the place of the oldest cell, the
number of cells from there, and when its bucket was last asked for. The times of the last hits of
the cells follow, then how many hits were before each. Written in this order, after a new cell: a
process that dies in between leaves too many counted, never too few. The tags that say which bucket
owns a slot stand together before all slots, since a search reads many of them.
"""

WORD = 8
RING = HEAD.size // WORD
KEY = 16
"""Random bytes at the end of the memory, with which the names of buckets are hashed."""
REACH = 16
"""Slots that are probed for a bucket that may have to give way, from the one its tag points to."""

KEPT_REACH = 512
"""Slots that are probed for a bucket that is kept; a table half full never needs so many."""

SLOTS = 131_072
"""Most buckets of a window: of one that counts days, how many keys may call in a day. They have
1 KiB of address space each; memory is used only for slots that were hit."""
KEYS_A_DAY = 100_000
"""So many keys find a slot; the first that found none was the 110,534th of three runs."""
STRANGERS_BYTES = 16 * 1024 * 1024
"""Most address space of a window whose buckets give way, because strangers can make any number."""
STRANGERS_KNOWN = 4_096
"""Places of such buckets that are remembered; those that are kept have as many as slots."""

Moment = tuple[float, float]
"""One time on two clocks: seconds since some start, which all processes of a machine share and
nobody can set; POSIX seconds."""


Slot = tuple[int, int, int, int]
"""Where a bucket counts as long as it owns the slot: its tag, the word that has the tag, the byte
at which the slot begins, the word of the time of its first cell."""

FULL_SECONDS = 60
"""For which it is told that a call found no room."""

FULL = "No room is left to count the calls of more keys today."
GONE = "The files in which workers count together are gone; restart all workers."

READ, WRITE = HEAD.unpack_from, HEAD.pack_into
NEW = tuple.__new__
"""What the constructor of a named tuple calls, without the call of a function for each hit."""


class CountersError(StoreError):
    """Several processes cannot count together here; the text says why."""


class Counters:
    """The slots of a window: at most `size` hits in any `seconds`, and at most `per_day` a UTC day.

    Processes over one file hold a shared lock while they use a slot.
    """

    def __init__(self, window: RateWindow, file: Path | None = None, slots: int = SLOTS) -> None:
        self.size = window.size
        self.seconds = window.seconds
        self.cells = window.cells
        self.together = window.together
        self.per_day = sys.maxsize if window.per_day is None else window.per_day
        self._gives_way = window.per_day is None
        self._words = RING + 2 * self.cells
        most = STRANGERS_BYTES // (WORD * self._words) if self._gives_way else slots
        self.slots = min(slots, most)
        self._reach = min(self.slots, REACH if self._gives_way else KEPT_REACH)
        self._most_known = STRANGERS_KNOWN if self._gives_way else self.slots
        self._path = file
        length = self.slots * (1 + self._words) * WORD + KEY
        self._file = None if file is None else open_shared(file, length)
        self.memory = mmap.mmap(-1 if self._file is None else self._file.fileno(), length)
        # Callers choose names of buckets: without the key they cannot find those of one place.
        with locked(self._file):
            self.key = self.memory[-KEY:]
            if not any(self.key):
                self.key = self.memory[-KEY:] = os.urandom(KEY)
        if hasattr(mmap, "MADV_NOHUGEPAGE"):
            # The used slots are scattered: each would occupy a huge page for its few bytes.
            self.memory.madvise(mmap.MADV_NOHUGEPAGE)
        self.words = memoryview(self.memory).cast("q")
        """The tags, then of each slot its head, and behind the times of its cells their counts."""
        self.times = memoryview(self.memory).cast("d")
        self.known: dict[str, Slot] = {}
        """Where buckets were last; each is verified by its tag, since it may have given way."""

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()

    def is_shared(self) -> bool:
        """Whether a process that starts now would count in the same memory."""
        if self._path is None or self._file is None:
            return True
        try:
            return os.path.samestat(self._path.stat(), os.fstat(self._file.fileno()))
        except OSError:
            return False

    def slot(self, bucket: str, at: Moment) -> Slot:
        """The slot of a bucket: its own, a free one, or one that is given up.

        Raises:
            CountersFullError: the bucket is new, and every slot has calls of this day.
        """
        digest = hashlib.blake2b(bucket.encode(), digest_size=8, key=self.key).digest()
        tag = int.from_bytes(digest, "big", signed=True) or 1
        place, is_owned = self._place(tag, at)
        first = self.slots + place * self._words
        slot = tag, place, first * WORD, first + RING
        if not is_owned:
            HEAD.pack_into(self.memory, first * WORD, 0, 0, 0, 0, 0, at[0])
            self.words[place] = tag
        if len(self.known) >= self._most_known:
            self.known.clear()
        self.known[bucket] = slot
        return slot

    def add(self, ring: int, oldest: int, live: int, total: int, now: float) -> int:
        """Put a hit into the newest cell of a slot or, after `total` hits, into a new one; returns
        how many cells there are.
        """
        cells, together = self.cells, self.together
        newest = ring + (oldest + live - 1) % cells
        if not live or (
            live < cells and not (together and self.times[newest] // together == now // together)
        ):
            newest = ring + (oldest + live) % cells
            self.words[newest + cells] = total
            live += 1
        self.times[newest] = now
        return live

    def _place(self, tag: int, at: Moment) -> tuple[int, bool]:
        """The place of a tag's slot, and whether the tag has it already."""
        free = None
        for step in range(self._reach):
            place = (tag + step) % self.slots
            owner = self.words[place]
            if owner == tag:
                return place, True
            if free is None and (owner == 0 or self._is_spent(place, at)):
                free = place
            if owner == 0:
                break  # no slot is ever emptied: the tag was never placed behind an empty one
        if free is not None:
            return free, False
        if not self._gives_way:
            raise CountersFullError
        near = ((tag + step) % self.slots for step in range(self._reach))
        return min(near, key=lambda place: self._head(place)[5]), False

    def _is_spent(self, place: int, at: Moment) -> bool:
        """Whether nothing of a slot counts any more."""
        day, calls, _, oldest, live, _ = self._head(place)
        if live:
            newest = self.slots + place * self._words + RING + (oldest + live - 1) % self.cells
            if at[0] - self.times[newest] < self.seconds:
                return False
        return self._gives_way or not calls or day < int(at[1]) // SECONDS_A_DAY

    def _head(self, place: int) -> tuple[int, int, int, int, int, float]:
        at = (self.slots + place * self._words) * WORD
        return HEAD.unpack_from(self.memory, at)


class LocalCounting:
    """Counts in tables of memory; with a folder, in files there, which several processes share.

    Nothing in it waits, so a call is counted before anything else runs in its process.
    """

    def __init__(
        self,
        folder: Path | None = None,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        utc: Callable[[], float] = time.time,
        slots: int = SLOTS,
    ) -> None:
        self._slots = slots
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

    def open(self, window: RateWindow) -> RateWindow:
        """Make the table of a window.

        Raises:
            CountersError: the folder cannot hold exact counts.
        """
        file = None if self._folder is None else self._folder / window.name
        self._tables[window.name] = Counters(window, file, self._slots)
        return window

    async def hit(self, *asked: Asked) -> Hits:
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
                if slot is None or table.words[slot[1]] != slot[0]:
                    slot = self._slot(table, bucket, at)
                _, _, head, ring = slot
                day, calls, total, oldest, live, _ = READ(table.memory, head)
                if day != today and day != today + 1:
                    # Around midnight a clock may be set back: what was counted goes on.
                    day, calls = today, 0
                times, cells, seconds = table.times, table.cells, table.seconds
                while live and now - times[ring + oldest] >= seconds:
                    oldest, live = (oldest + 1) % cells, live - 1
                hits = total - table.words[ring + cells + oldest] if live else 0
                fits = hits < table.size and calls < table.per_day
                if not fits:
                    counted = False
                states.append((table, head, ring, day, calls, total, oldest, live, hits, fits))
            for table, head, ring, day, calls, total, oldest, live, hits, fits in states:
                if counted:
                    live = table.add(ring, oldest, live, total, now)
                    calls, total, hits = calls + 1, total + 1, hits + 1
                WRITE(table.memory, head, day, calls, total, oldest, live, now)
                reset = table.seconds - (now - table.times[ring + oldest]) if live else 0.0
                each.append(NEW(Hit, (fits, table.size - hits, reset, calls)))
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
                day, calls, total, oldest, live, _ = READ(table.memory, head)
                newest = ring + (oldest + live - 1) % table.cells
                if live and now - table.times[newest] < table.seconds:
                    calls, total = max(0, calls - 1), total - 1
                    live -= total <= table.words[newest + table.cells]
                    WRITE(table.memory, head, day, calls, total, oldest, live, now)

    async def resume(self, calls: Iterable[tuple[RateWindow, str, int]]) -> None:
        """Take over how many calls of this UTC day a bucket has had; what has no room is left."""
        at = now, utc = self._monotonic(), self._utc()
        today = int(utc) // SECONDS_A_DAY
        with suppress(CountersFullError), locked(self._file):
            for window, bucket, number in calls:
                table = self._tables[window.name]
                head = table.slot(bucket, at)[2]
                day, before, *rest, _ = READ(table.memory, head)
                if day not in (today, today + 1):
                    day, before = today, 0
                WRITE(table.memory, head, day, max(before, number), *rest, now)

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


@contextmanager
def locked(file: IO[bytes] | None) -> Iterator[None]:
    """Hold the lock of a file, if there is one. A process that dies releases it."""
    if file is not None:
        lockf(file, LOCK_EX)
    try:
        yield
    finally:
        if file is not None:
            lockf(file, LOCK_UN)


def open_shared(file: Path, length: int) -> IO[bytes]:
    """A file of a length, which is made if it is absent.

    Raises:
        CountersError: it cannot be.
    """
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        stream = os.fdopen(os.open(file, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
        stream.truncate(length)  # a sparse file, which reads as zeros: no hits
    except OSError as error:
        raise CountersError(
            f"Several workers count together in {file}, which cannot be used ({error.strerror}); "
            "run one worker, or set TMPDIR to a local folder."
        ) from error
    return stream

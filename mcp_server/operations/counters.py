"""Counters: the recent hits of each bucket, in a block of memory that several processes may share.

A ring holds the hits of a bucket that are still in its moving window, oldest first. A call first
drops the hits that have left the window; it counts if the ring then has room for one more. The
count is exact and takes amortized constant time. The slots are an open-addressed hash table of
fixed size, so memory does not grow with the number of callers.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from pathlib import Path
from typing import IO, NamedTuple

from store.errors import StoreError

try:
    from fcntl import LOCK_EX, LOCK_UN, lockf
except ImportError:  # not a POSIX system: one process only
    lockf = None  # type: ignore[assignment]

OLDEST, LIVE, DAY, CALLS, RING = range(5)
"""Words of a slot: the place of the oldest hit, the number of hits from there, the UTC day, its
calls, the hits. The tags that say which bucket owns a slot stand together before all slots, since
a search reads many of them.
"""

WORD = 8
REACH = 16
"""Slots that are probed for a bucket, from the one that its tag points to."""

SLOTS = 32_768
MOST_BYTES = 256 * 1024 * 1024
"""Most address space of one table; memory is used only for the slots that were hit."""

SECONDS_A_DAY = 86_400


class CountersError(StoreError):
    """Several processes cannot count together here; the text says why."""


class Hit(NamedTuple):
    """Whether one call was counted, and the state of its bucket now."""

    counted: bool
    left: int
    """Calls that still fit the window."""
    reset: float
    """Seconds until the oldest call leaves the window."""
    today: int
    """Calls of this UTC day."""


class Counters:
    """Hits by bucket: at most `size` in any `seconds`, and at most `per_day` a UTC day."""

    def __init__(
        self, size: int, seconds: float, per_day: int | None = None, file: Path | None = None
    ) -> None:
        self._size = size
        self._seconds = seconds
        self._per_day = per_day
        self._words = RING + size
        self._slots = max(8, min(SLOTS, MOST_BYTES // (WORD * self._words)))
        # One extra slot is shared by the buckets that find none: they get fewer calls, never more.
        self._tags = self._slots + 1
        self._file = None if file is None else _open(file, self._bytes)
        memory = mmap.mmap(-1 if self._file is None else self._file.fileno(), self._bytes)
        if hasattr(mmap, "MADV_NOHUGEPAGE"):
            # The used slots are scattered: each would occupy a huge page for its few bytes.
            memory.madvise(mmap.MADV_NOHUGEPAGE)
        self._numbers = memoryview(memory).cast("q")
        self._times = memoryview(memory).cast("d")

    @property
    def _bytes(self) -> int:
        return self._tags * (1 + self._words) * WORD

    def hit(self, bucket: str, now: float) -> Hit:
        """Count a call at a POSIX time, if it fits both the window and the day."""
        if self._file is None:
            return self._hit(bucket, now)
        # A process that dies releases its lock, and each write of a word is atomic.
        lockf(self._file, LOCK_EX)
        try:
            return self._hit(bucket, now)
        finally:
            lockf(self._file, LOCK_UN)

    def take_back(self, bucket: str, now: float) -> None:
        """Undo the count of a bucket's newest call."""
        if self._file is not None:
            lockf(self._file, LOCK_EX)
        try:
            slot = self._slot(bucket, now)
            if self._newest(slot) > now - self._seconds:
                self._numbers[slot + LIVE] -= 1
                self._numbers[slot + CALLS] -= 1
        finally:
            if self._file is not None:
                lockf(self._file, LOCK_UN)

    def _hit(self, bucket: str, now: float) -> Hit:
        numbers, times, size = self._numbers, self._times, self._size
        slot = self._slot(bucket, now)
        ring, day, since = slot + RING, int(now) // SECONDS_A_DAY, now - self._seconds
        oldest, live = numbers[slot + OLDEST], numbers[slot + LIVE]
        if live and times[ring + (oldest + live - 1) % size] > now + 1:
            live = 0  # the clock was set back
        while live and times[ring + oldest] <= since:
            oldest, live = (oldest + 1) % size, live - 1
        today = numbers[slot + CALLS] if numbers[slot + DAY] == day else 0
        fits = live < size and (self._per_day is None or today < self._per_day)
        if fits:
            times[ring + (oldest + live) % size] = now
            live, today = live + 1, today + 1
            numbers[slot + DAY], numbers[slot + CALLS] = day, today
        # In this order, a process that dies in between leaves too many hits counted, never too few.
        numbers[slot + OLDEST] = oldest
        numbers[slot + LIVE] = live
        return Hit(fits, size - live, times[ring + oldest] - since if live else 0.0, today)

    def _newest(self, slot: int) -> float:
        """The time of a slot's last hit, if it may still be in the window; else 0."""
        live = self._numbers[slot + LIVE]
        place = (self._numbers[slot + OLDEST] + live - 1) % self._size
        return self._times[slot + RING + place] if live else 0.0

    def _slot(self, bucket: str, now: float) -> int:
        """The first word of a bucket's slot: its own, a spent one taken over, or the shared one."""
        digest = hashlib.blake2b(bucket.encode(), digest_size=8).digest()
        tag = int.from_bytes(digest, "big", signed=True) or 1
        free = None
        for step in range(REACH):
            place = (tag + step) % self._slots
            owner = self._numbers[place]
            if owner == tag:
                return self._tags + place * self._words
            if free is None and (owner == 0 or self._is_spent(place, now)):
                free = place
        if free is None:
            return self._tags + self._slots * self._words
        slot = self._tags + free * self._words
        for word in (OLDEST, LIVE, DAY, CALLS):
            self._numbers[slot + word] = 0
        self._numbers[free] = tag
        return slot

    def _is_spent(self, place: int, now: float) -> bool:
        slot = self._tags + place * self._words
        same_day = self._numbers[slot + DAY] == int(now) // SECONDS_A_DAY
        in_window = self._newest(slot) > now - self._seconds
        return not in_window and not (self._per_day is not None and same_day)


def _open(file: Path, length: int) -> IO[bytes]:
    if lockf is None:
        raise CountersError("Several workers need POSIX file locks to count together; run one.")
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

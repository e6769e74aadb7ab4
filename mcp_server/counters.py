"""Counters: when each bucket was hit last, in a block of memory that several processes may share.

A bucket's last `size` hits stand in a ring. One more fits a moving window exactly when the oldest
of them has left it, so one comparison decides and no window ever holds more than `size` calls.
The slots are an open-addressed table of fixed size: it does not grow with who calls.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from bisect import bisect_right
from pathlib import Path
from typing import IO, NamedTuple

from store.errors import StoreError

try:
    from fcntl import LOCK_EX, LOCK_UN, lockf
except ImportError:  # not a POSIX system: one process only
    lockf = None  # type: ignore[assignment]

TAG, HEAD, DAY, CALLS, RING = range(5)
"""Words of a slot: whose it is, the place of the oldest hit, the UTC day, its calls, the hits."""

WORD = 8
REACH = 16
"""Slots that are looked at for a bucket, from the one that its tag points to."""

SLOTS = 32_768
MOST_BYTES = 256 * 1024 * 1024
"""Address space of one table; memory is used only for the slots that were hit."""

KNOWN_LIMIT = 65_536
SECONDS_A_DAY = 86_400


class CountersError(StoreError):
    """Several processes cannot count together here; the text says why."""


class Hit(NamedTuple):
    """What became of one call, and how its bucket stands now."""

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
        # One slot more, for the buckets that find none: together they get less, never more.
        self._file = None if file is None else _open(file, self._bytes)
        memory = mmap.mmap(-1 if self._file is None else self._file.fileno(), self._bytes)
        self._numbers = memoryview(memory).cast("q")
        self._times = memoryview(memory).cast("d")
        self._known: dict[str, tuple[int, int]] = {}

    @property
    def _bytes(self) -> int:
        return (self._slots + 1) * self._words * WORD

    def hit(self, bucket: str, now: float) -> Hit:
        """Count a call at a POSIX time, if it fits both the window and the day."""
        if self._file is None:
            return self._hit(bucket, now)
        # A process that dies lets go of its lock, and each write of a word is whole.
        lockf(self._file, LOCK_EX)
        try:
            return self._hit(bucket, now)
        finally:
            lockf(self._file, LOCK_UN)

    def take_back(self, bucket: str, now: float) -> None:
        """Uncount the newest call of a bucket."""
        if self._file is not None:
            lockf(self._file, LOCK_EX)
        try:
            slot = self._slot(bucket, now)
            newest = (self._numbers[slot + HEAD] - 1) % self._size
            if self._times[slot + RING + newest] > now - self._seconds:
                self._times[slot + RING + newest] = 0.0
                self._numbers[slot + HEAD] = newest
                self._numbers[slot + CALLS] -= 1
        finally:
            if self._file is not None:
                lockf(self._file, LOCK_UN)

    def _hit(self, bucket: str, now: float) -> Hit:
        numbers, times, size = self._numbers, self._times, self._size
        slot = self._slot(bucket, now)
        ring, day = slot + RING, int(now) // SECONDS_A_DAY
        head = numbers[slot + HEAD]
        if times[ring + head - 1 if head else ring + size - 1] > now + 1:
            self._claim(slot, numbers[slot + TAG])  # the clock was set back
            head = 0
        today = numbers[slot + CALLS] if numbers[slot + DAY] == day else 0
        since = now - self._seconds
        fits = times[ring + head] <= since and (self._per_day is None or today < self._per_day)
        if fits:
            times[ring + head] = now
            head = numbers[slot + HEAD] = (head + 1) % size
            today += 1
            numbers[slot + DAY], numbers[slot + CALLS] = day, today
        left = self._spent(ring, head, since)
        oldest = times[ring + (head + left) % size] if left < size else since
        return Hit(fits, left, oldest - since, today)

    def _spent(self, ring: int, head: int, since: float) -> int:
        """How many places of the ring hold hits that have left the window: a sorted circle."""
        times, size = self._times, self._size
        if times[ring + size - 1] > since:
            return bisect_right(times, since, ring + head, ring + size) - ring - head
        return size - head + bisect_right(times, since, ring, ring + head) - ring

    def _slot(self, bucket: str, now: float) -> int:
        known = self._known.get(bucket)
        if known is not None and self._numbers[known[0] + TAG] == known[1]:
            return known[0]
        digest = hashlib.blake2b(bucket.encode(), digest_size=8).digest()
        tag = int.from_bytes(digest, "big", signed=True) or 1
        slot = self._find(tag, now)
        if len(self._known) >= KNOWN_LIMIT:
            self._known.clear()
        self._known[bucket] = (slot, self._numbers[slot + TAG])
        return slot

    def _find(self, tag: int, now: float) -> int:
        """The slot of a tag, or a spent one taken for it, or the one that is shared."""
        free = None
        for step in range(REACH):
            slot = (tag + step) % self._slots * self._words
            owner = self._numbers[slot + TAG]
            if owner == tag:
                return slot
            if free is None and (owner == 0 or self._is_spent(slot, now)):
                free = slot
        if free is None:
            return self._slots * self._words
        self._claim(free, tag)
        return free

    def _is_spent(self, slot: int, now: float) -> bool:
        newest = self._times[slot + RING + (self._numbers[slot + HEAD] - 1) % self._size]
        same_day = self._numbers[slot + DAY] == int(now) // SECONDS_A_DAY
        return newest <= now - self._seconds and not (self._per_day is not None and same_day)

    def _claim(self, slot: int, tag: int) -> None:
        if self._numbers[slot + TAG] != 0:
            for place in range(slot + RING, slot + self._words):
                self._times[place] = 0.0
        self._numbers[slot + HEAD] = self._numbers[slot + DAY] = self._numbers[slot + CALLS] = 0
        self._numbers[slot + TAG] = tag


def _open(file: Path, length: int) -> IO[bytes]:
    if lockf is None:
        raise CountersError("Several workers need POSIX file locks to count together; run one.")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        stream = os.fdopen(os.open(file, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
        stream.truncate(length)  # a hole, which reads as calls long past
    except OSError as error:
        raise CountersError(
            f"Several workers count together in {file}, which cannot be used ({error.strerror}); "
            "run one worker, or set TMPDIR to a local folder."
        ) from error
    return stream

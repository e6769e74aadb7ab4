"""Counters: the recent hits of each bucket, in a block of memory that several processes may share.

A ring holds the hits of a bucket that are still in its moving window, oldest first. A call first
drops the hits that have left the window; it counts if the ring then has room for one more. The
count is exact and takes amortized constant time. The slots are an open-addressed hash table of
fixed size, so memory does not grow with the number of callers, and two buckets never share a slot.
A bucket that finds none free near its place takes that of the neighbour unseen for longest, unless
days are counted: a count of a day is never given up, so the new bucket is refused.
"""

from __future__ import annotations

import hashlib
import math
import mmap
import os
import time
from contextlib import nullcontext
from pathlib import Path
from typing import IO, NamedTuple

from mcp_server.operations.counting import SECONDS_A_DAY, CountersFullError, Hit
from store.errors import StoreError

try:
    from fcntl import LOCK_EX, LOCK_UN, lockf
except ImportError:  # not a POSIX system: one process only
    lockf = None  # type: ignore[assignment]

OLDEST, LIVE, DAY, CALLS, SEEN, RING = range(6)
"""Words of a slot: the place of the oldest hit, the number of hits from there, the UTC day, its
calls, when its bucket was last looked up, the hits. The tags that say which bucket owns a slot
stand together before all slots, since a search reads many of them.
"""

WORD = 8
KEY = 16
"""Random bytes at the end of the memory, with which the names of buckets are hashed."""
REACH = 16
"""Slots that are probed for a bucket that may have to give way, from the one its tag points to."""

KEPT_REACH = 512
"""Slots that are probed for a bucket that is kept; a table half full never needs so many."""

SLOTS = 131_072
MOST_BYTES = 256 * 1024 * 1024
"""Most address space of a table that counts days; memory is used only for slots that were hit."""
STRANGERS_BYTES = 16 * 1024 * 1024
"""The same of one whose buckets give way, since strangers can make any number of them."""


class Moment(NamedTuple):
    """One time on two clocks."""

    monotonic: float
    """Seconds since some start; all processes of a machine share it, and nobody can set it."""
    utc: float
    """POSIX seconds."""

    @property
    def day(self) -> int:
        """The UTC day, as days since 1970-01-01."""
        return int(self.utc) // SECONDS_A_DAY


def moment() -> Moment:
    """The current time."""
    return Moment(time.monotonic(), time.time())


class CountersError(StoreError):
    """Several processes cannot count together here; the text says why."""


class Counters:
    """Hits by bucket: at most `size` in any `seconds`, and at most `per_day` a UTC day.

    Of several processes over one file, whoever calls a method holds a lock that they share.
    """

    def __init__(
        self, size: int, seconds: float, per_day: int | None = None, file: Path | None = None
    ) -> None:
        self._size = size
        self._seconds = seconds
        self._per_day = per_day
        self._words = RING + size
        most = STRANGERS_BYTES if per_day is None else MOST_BYTES
        self._slots = max(8, min(SLOTS, most // (WORD * self._words)))
        self._reach = min(self._slots, REACH if per_day is None else KEPT_REACH)
        self._path = file
        self._file = None if file is None else open_shared(file, self._bytes)
        memory = mmap.mmap(-1 if self._file is None else self._file.fileno(), self._bytes)
        # Callers choose names of buckets: without the key they cannot find those of one place.
        with nullcontext() if self._file is None else Lock(self._file):
            self._key = memory[-KEY:]
            if not any(self._key):
                self._key = memory[-KEY:] = os.urandom(KEY)
        if hasattr(mmap, "MADV_NOHUGEPAGE"):
            # The used slots are scattered: each would occupy a huge page for its few bytes.
            memory.madvise(mmap.MADV_NOHUGEPAGE)
        self._numbers = memoryview(memory).cast("q")
        self._times = memoryview(memory).cast("d")

    @property
    def _bytes(self) -> int:
        return self._slots * (1 + self._words) * WORD + KEY

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

    def hit(self, bucket: str, at: Moment) -> Hit:
        """Count a call, if it fits both the window and the day.

        Raises:
            CountersFullError: the bucket is new, and every slot has calls of this day.
        """
        numbers, times, size = self._numbers, self._times, self._size
        slot, now = self._slot(bucket, at), at.monotonic
        day = self._day(slot, at)
        ring, since = slot + RING, now - self._seconds
        oldest, live = numbers[slot + OLDEST], numbers[slot + LIVE]
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

    def take_back(self, bucket: str, at: Moment) -> None:
        """Undo the count of a bucket's newest call."""
        slot = self._slot(bucket, at)
        if self._newest(slot) > at.monotonic - self._seconds:
            self._numbers[slot + LIVE] -= 1
            self._numbers[slot + CALLS] -= 1

    def resume(self, bucket: str, calls: int, at: Moment) -> None:
        """Count at least so many calls of this UTC day, which others have admitted."""
        slot = self._slot(bucket, at)
        day = self._day(slot, at)
        today = self._numbers[slot + CALLS] if self._numbers[slot + DAY] == day else 0
        self._numbers[slot + DAY] = day
        self._numbers[slot + CALLS] = max(today, calls)

    def _day(self, slot: int, at: Moment) -> int:
        """The UTC day; around midnight a clock may be set back: what was counted goes on."""
        day = at.day
        return day + 1 if self._numbers[slot + DAY] == day + 1 else day

    def _newest(self, slot: int) -> float:
        """The time of a slot's last hit, if it may still be in the window; else minus infinity."""
        live = self._numbers[slot + LIVE]
        place = (self._numbers[slot + OLDEST] + live - 1) % self._size
        return self._times[slot + RING + place] if live else -math.inf

    def _slot(self, bucket: str, at: Moment) -> int:
        """The first word of a bucket's slot: its own, a free one, or one that is given up."""
        digest = hashlib.blake2b(bucket.encode(), digest_size=8, key=self._key).digest()
        tag = int.from_bytes(digest, "big", signed=True) or 1
        place, owned = self._place(tag, at)
        slot = self._at(place)
        if not owned:
            for word in (OLDEST, LIVE, DAY, CALLS):
                self._numbers[slot + word] = 0
            self._numbers[place] = tag
        self._times[slot + SEEN] = at.monotonic
        return slot

    def _place(self, tag: int, at: Moment) -> tuple[int, bool]:
        """The place of a tag's slot, and whether the tag has it already."""
        free = None
        for step in range(self._reach):
            place = (tag + step) % self._slots
            owner = self._numbers[place]
            if owner == tag:
                return place, True
            if free is None and (owner == 0 or self._is_spent(place, at)):
                free = place
            if owner == 0:
                break  # no slot is ever emptied: the tag was never placed behind an empty one
        if free is not None:
            return free, False
        if self._per_day is not None:
            raise CountersFullError
        near = ((tag + step) % self._slots for step in range(self._reach))
        return min(near, key=lambda place: self._times[self._at(place) + SEEN]), False

    def _is_spent(self, place: int, at: Moment) -> bool:
        slot = self._at(place)
        if self._newest(slot) > at.monotonic - self._seconds:
            return False
        return self._per_day is None or self._numbers[slot + DAY] < at.day

    def _at(self, place: int) -> int:
        return self._slots + place * self._words


class Lock:
    """Holds the lock of a file. A process that dies releases it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def __enter__(self) -> None:
        lockf(self._file, LOCK_EX)

    def __exit__(self, *_error: object) -> None:
        lockf(self._file, LOCK_UN)


def open_shared(file: Path, length: int) -> IO[bytes]:
    """A file of a length, which is made if it is absent.

    Raises:
        CountersError: it cannot be, or cannot be locked here.
    """
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

"""Counting: the one interface of all limits, whether this machine's memory counts or Redis.

A window holds so many hits of a bucket in any so many seconds, and some so many a UTC day. A call
that several windows bound is counted in all of them or in none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from store.errors import StoreError

SECONDS_A_DAY = 86_400

MAX_CELLS = 61
"""Cells of one bucket, however many calls its window allows: its memory does not grow with them."""


@dataclass(frozen=True, slots=True)
class RateWindow:
    """How many hits each bucket has: at most `size` in any `seconds`, and `per_day` a UTC day."""

    name: str
    """What is counted, as no other window of the service is named."""
    size: int
    seconds: int
    per_day: int | None = None

    @property
    def cells(self) -> int:
        """How many cells hold the hits of a bucket: each one, or those of a sixtieth together."""
        return min(self.size, MAX_CELLS)

    @property
    def together(self) -> float:
        """Seconds whose hits share a cell; 0 if each hit has its own.

        A cell leaves the window with its last hit. So no window ever holds more hits than it may,
        and in that of a minute each hit counts for less than a second too long.
        """
        return 0 if self.size <= MAX_CELLS else self.seconds / (MAX_CELLS - 1)


Asked = tuple[RateWindow, str]
"""A window, and the name of a bucket in it."""


class Hit(NamedTuple):
    """Whether a window has room for one call, and the state of the bucket after it."""

    fits: bool
    left: int
    """Calls that still fit the window."""
    reset: float
    """Seconds until the oldest call leaves the window."""
    today: int
    """Calls of this UTC day."""


class Hits(NamedTuple):
    """What became of one call in all windows that were asked."""

    counted: bool
    """Whether each had room; else none has counted it."""
    each: tuple[Hit, ...]
    """In the order in which they were asked."""
    midnight: int
    """Whole seconds until the UTC day ends."""

    @property
    def wait(self) -> int:
        """Whole seconds, at least one, after which a refused call fits the first full window."""
        full = next((hit.reset for hit in self.each if not hit.fits), 0.0)
        return max(1, math.ceil(full))

    def full(self, asked: Iterable[Asked]) -> RateWindow:
        """The first window that had no room for a refused call."""
        both = zip(asked, self.each, strict=True)
        return next(window for (window, _), hit in both if not hit.fits)


class UncountedError(StoreError):
    """A call cannot be counted now, so it must not be answered."""

    def __init__(self, message: str, wait: int) -> None:
        super().__init__(message)
        self.wait = wait
        """Seconds after which to try again."""


class CountersFullError(UncountedError):
    """No slot is free, and none may be given up."""

    def __init__(self) -> None:
        super().__init__("Every slot has calls of this day.", wait=60)


class CountersAwayError(UncountedError):
    """Redis does not count, and the setting says that nothing else does in its place."""

    def __init__(self, why: str) -> None:
        super().__init__(f"The Redis of the limits is away: {why}.", wait=2)
        self.why = why


class Counting(Protocol):
    """Counts hits by window and bucket."""

    @property
    def fault(self) -> str | None:
        """What is worse than it should be: a sentence for anybody; None if nothing is."""

    def open(self, window: RateWindow) -> RateWindow:
        """Make room for a window, which is given back; before its first hit.

        Raises:
            CountersError: this machine cannot hold exact counts.
        """

    async def hit(self, *asked: Asked) -> Hits:
        """Count one call in each window, if all have room.

        Each window is asked for one bucket; several are asked in one order always.

        Raises:
            UncountedError: it cannot be counted now.
        """

    async def take_back(self, *asked: Asked) -> None:
        """Undo the newest hit of each bucket, as far as it is still in its window."""

    async def resume(self, calls: Iterable[tuple[RateWindow, str, int]]) -> None:
        """Take over how many calls of this UTC day a bucket has had at least."""

    async def close(self) -> None:
        """Let go of what is held: files, or a connection."""

"""Redis counting: the windows of all machines, in one Redis.

Redis's own clock is the only one. While Redis is away this machine counts by itself, or nothing
counts and calls are refused: no call is ever admitted uncounted.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable
from itertools import islice

from mcp_server.operations.counting import (
    Asked,
    CountersAwayError,
    Counting,
    Hit,
    Hits,
    Window,
)
from mcp_server.operations.redis_line import MOST_AT_ONCE, RedisLine, Work
from telemetry.metrics import limits_away

PREFIX = "{screener:1}:"
"""Of every key: the braces keep all in one slot, the number is the version of their meaning."""

MARK = PREFIX + "mark"
"""Says that the calls of the day are known."""

MARKING = Work("look", 0, (MARK, MARK), (0, 0, -1))


class RedisCounting:
    """Counts in Redis; while it is away, by `meanwhile`, or not at all if that is None."""

    def __init__(self, line: RedisLine, meanwhile: Counting | None) -> None:
        self._line = line
        self._meanwhile = meanwhile
        self._away = limits_away.labels("refused" if meanwhile is None else "local")

    @property
    def is_away(self) -> bool:
        """Whether Redis does not count."""
        return self._line.why is not None

    @property
    def fault(self) -> str | None:
        """That Redis is away, and what happens meanwhile."""
        if self._line.why is None:
            return None
        then = "calls are refused" if self._meanwhile is None else "each machine counts by itself"
        return f"The Redis of the limits is away ({self._line.why}); {then}."

    def open(self, window: Window) -> Window:
        """Make room for a window on this machine; Redis needs none.

        Raises:
            CountersError: this machine cannot hold exact counts.
        """
        return window if self._meanwhile is None else self._meanwhile.open(window)

    async def hit(self, *asked: Asked) -> Hits:
        """Count one call in each window, if all have room.

        Raises:
            UncountedError: Redis is away and nothing counts meanwhile, or that has no room.
        """
        try:
            midnight, *told = await self._line.ask(_work("hit", asked))
        except CountersAwayError:
            self._away.inc()
            if self._meanwhile is None:
                raise
            return await self._meanwhile.hit(*asked)
        each = tuple(
            Hit(fits == 1, left, reset / 1_000_000, today)
            for fits, left, reset, today in zip(*[iter(told)] * 4, strict=True)
        )
        return Hits(all(hit.fits for hit in each), each, midnight)

    async def take_back(self, *asked: Asked) -> None:
        """Undo the newest hit of each bucket, as far as it is still in its window."""
        try:
            await self._line.ask(_work("take_back", asked))
        except CountersAwayError:
            if self._meanwhile is not None:
                await self._meanwhile.take_back(*asked)

    async def look(self) -> bool:
        """Ask Redis whether it counts; whether this process must then `resume` the calls of today.

        One of all processes must: if the data of Redis is new, or after it was away.
        """
        try:
            must, *_ = await self._line.try_again(MARKING._replace(number=int(self.is_away)))
        except CountersAwayError:
            return False
        return must == 1

    async def resume(self, calls: Iterable[tuple[Window, str, int]]) -> None:
        """Take over how many calls of this UTC day a bucket has had, here and in Redis."""
        calls = list(calls)
        if self._meanwhile is not None:
            await self._meanwhile.resume(calls)
        works = (_work("resume", ((window, who),), number) for window, who, number in calls)
        try:
            while some := list(islice(works, MOST_AT_ONCE)):
                await asyncio.gather(*map(self._line.ask, some))
            await self._line.ask(MARKING._replace(what="resumed"))
        except CountersAwayError:
            return  # without the mark another look says that it must be done again

    async def close(self) -> None:
        """Leave Redis, and let go of what counts meanwhile."""
        await self._line.close()
        if self._meanwhile is not None:
            await self._meanwhile.close()


def _work(what: str, asked: tuple[Asked, ...], number: int = 0) -> Work:
    keys: list[str] = []
    bounds: list[int] = []
    for window, bucket in asked:
        # Strangers choose the names of buckets, and addresses are nobody's business in Redis.
        digest = hashlib.blake2b(bucket.encode(), digest_size=16).hexdigest()
        key = f"{PREFIX}{window.name}:{digest}"
        most = -1 if window.per_day is None else window.per_day
        keys += (key, f"{key}:day")
        bounds += (window.size, window.seconds * 1_000_000, most)
    return Work(what, number, tuple(keys), tuple(bounds))

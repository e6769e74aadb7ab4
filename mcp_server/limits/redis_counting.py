"""Redis counting: the windows of all machines, in one Redis.

Redis's own clock is the only one. While Redis is away this machine counts by itself, or nothing
counts and calls are refused: no call is ever admitted uncounted. Every wait for Redis is bounded,
and after a failure nobody waits for it again until a look has found that it counts.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from importlib.resources import files
from typing import TypeVar

from redis import exceptions as refusals
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

from mcp_server.limits.counting import (
    SECONDS_A_DAY,
    Asked,
    CountersAwayError,
    Counting,
    Hit,
    Hits,
    RateWindow,
)
from screener.telemetry.metrics import limits_away

SCRIPT = files(__package__).joinpath("counting.lua").read_text("utf-8")

PREFIX = "{screener:2}:"
"""Prefix of every key: the braces keep all in one slot, the number is the version of the format."""

KNOWN, KNOWN_SECONDS = PREFIX + "known", 2 * SECONDS_A_DAY
"""Is there as long as the calls of the day are known."""

RESUMING, RESUMING_SECONDS = PREFIX + "resuming", 30
"""Is there while one process resumes them; if that dies, another does after so many seconds."""

WAIT_SECONDS = 0.25
"""For which a call waits for Redis: for its name, a new connection and the answer together."""

GRACE_SECONDS = 0.05
"""After that, in which a process that was held up itself reads an answer that has come."""

CONNECTIONS = 8
"""Connections of one process; a call has one for its round trip. Waiting calls fail as soon as any
call has failed."""

MAX_WAITING = 4096
"""Calls of one process that wait for Redis at the same time."""

MAX_AT_ONCE = 128
"""Buckets that are resumed in one round trip: Redis does nothing else meanwhile."""

COUNTS = "The Redis of the limits counts."
NOT_ASKED = "it has not been asked yet"

T = TypeVar("T")

log = logging.getLogger(__name__)


class RedisCounting:
    """Counts in Redis; while it is away, by `meanwhile`, or not at all if that is None."""

    def __init__(self, url: str, meanwhile: Counting | None, script: str = SCRIPT) -> None:
        # A call that failed may have counted: it is never sent again. The waits are bounded here,
        # all together; the client's own bound costs a task for each thing that it sends. With the
        # older protocol a pool looks for an unread answer before it hands out a connection.
        self._client = Redis.from_url(
            url,
            protocol=2,
            retry=Retry(NoBackoff(), 0),
            socket_timeout=None,
            socket_connect_timeout=None,
        )
        self._script = self._client.register_script(script)
        self._connections = asyncio.Semaphore(CONNECTIONS)
        self._waiting = 0
        self._why: str | None = NOT_ASKED
        """Why Redis is away; None while it counts."""
        self._meanwhile = meanwhile
        self._away = limits_away.labels("refused" if meanwhile is None else "local")

    @property
    def is_away(self) -> bool:
        """Whether Redis does not count."""
        return self._why is not None

    @property
    def fault(self) -> str | None:
        """That Redis is away, and what happens meanwhile."""
        if self._why is None:
            return None
        then = "calls are refused" if self._meanwhile is None else "each machine counts by itself"
        return f"The Redis of the limits is away ({self._why}); {then}."

    def open(self, window: RateWindow) -> RateWindow:
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
            answered = 1 + 4 * len(asked)
            midnight, *states = await self._work(self._run, "hit", *_windows(asked), answered)
        except CountersAwayError:
            self._away.inc()
            if self._meanwhile is None:
                raise
            return await self._meanwhile.hit(*asked)
        each = tuple(
            Hit(fits == 1, left, reset / 1_000_000, today)
            for fits, left, reset, today in zip(*[iter(states)] * 4, strict=True)
        )
        return Hits(all(hit.fits for hit in each), each, midnight)

    async def take_back(self, *asked: Asked) -> None:
        """Undo the newest hit of each bucket, as far as it is still in its window."""
        try:
            await self._work(self._run, "take_back", *_windows(asked))
        except CountersAwayError:
            if self._meanwhile is not None:
                await self._meanwhile.take_back(*asked)

    async def look(self) -> bool:
        """Ask Redis whether it counts; whether this process must then `resume` the calls of today.

        One of all processes must: if the data of Redis is new, or after it was away.
        """
        try:
            must = await self._work(self._look, is_look=True)
        except CountersAwayError:
            return False
        if self._why is not None:
            log.log(logging.INFO if self._why == NOT_ASKED else logging.WARNING, COUNTS)
            self._why = None
        return must

    async def _look(self) -> bool:
        await self._run("hit", (), (), 1)  # of no window: the script may run, and is understood
        is_known = await self._client.set(KNOWN, 1, ex=KNOWN_SECONDS, xx=True)
        if is_known and not self.is_away:
            return False
        return bool(await self._client.set(RESUMING, 1, ex=RESUMING_SECONDS, nx=True))

    async def resume(self, calls: Iterable[tuple[RateWindow, str, int]]) -> None:
        """Take over how many calls of this UTC day a bucket has had, here and in Redis."""
        calls = list(calls)
        if self._meanwhile is not None:
            await self._meanwhile.resume(calls)
        try:
            for first in range(0, len(calls), MAX_AT_ONCE):
                some = calls[first : first + MAX_AT_ONCE]
                keys = [_keys(window, bucket)[1] for window, bucket, _ in some]
                await self._work(self._run, "resume", keys, [number for _, _, number in some])
            await self._work(self._client.set, KNOWN, 1, KNOWN_SECONDS)
            await self._work(self._client.delete, RESUMING)
        except CountersAwayError:
            return  # it is not known then, so another look says that it must be done again

    async def close(self) -> None:
        """Leave Redis; nobody waits for it any more."""
        self._why = "the service is stopping"
        await self._client.aclose()
        if self._meanwhile is not None:
            await self._meanwhile.close()

    async def _run(
        self, what: str, keys: Sequence[str], arguments: Sequence[int], answered: int = 0
    ) -> list[int]:
        """What the script returns, so many integers."""
        answer = await self._script(keys, (what, *arguments))
        # A program between us and Redis may send anything.
        if isinstance(answer, list) and [type(number) for number in answer] == [int] * answered:
            return answer
        raise refusals.InvalidResponse

    async def _work(
        self, work: Callable[..., Awaitable[T]], *arguments: object, is_look: bool = False
    ) -> T:
        """What work with Redis returns; while that is away, only a look works with it.

        Raises:
            CountersAwayError: Redis is away, or failed in the course of this call.
        """
        if self._waiting >= MAX_WAITING:
            raise CountersAwayError("too many calls are waiting for it")
        self._waiting += 1
        try:
            async with self._connections:  # first come, first served, as no pool does
                if self._why is not None and not is_look:
                    raise CountersAwayError(self._why)
                try:
                    return await _in_time(work, *arguments)
                except Exception as error:  # whatever it is, nobody else waits for it
                    why = _why(error)
                    await self._leave(why)
                    raise CountersAwayError(why) from None
        finally:
            self._waiting -= 1

    async def _leave(self, why: str) -> None:
        """Note that Redis is away."""
        if self._why in (None, NOT_ASKED):
            log.warning(
                "The Redis of the limits is away: %s; `screener doctor` shows the reason.", why
            )
        self._why = why
        # The next look goes to the address anew: another server may have its part by now.
        await self._client.connection_pool.disconnect(inuse_connections=False)


async def _in_time(work: Callable[..., Awaitable[T]], *arguments: object) -> T:
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(None) as bound:
        late = loop.call_later(WAIT_SECONDS, lambda: bound.reschedule(loop.time() + GRACE_SECONDS))
        try:
            return await work(*arguments)
        finally:
            late.cancel()


def _keys(window: RateWindow, bucket: str) -> tuple[str, str]:
    """The keys of a bucket's hits and of its day."""
    # Strangers choose the names of buckets, and addresses are nobody's business in Redis.
    digest = hashlib.blake2b(bucket.encode(), digest_size=16).hexdigest()
    key = f"{PREFIX}{window.name}:{digest}"
    return key, f"{key}:day"


def _windows(asked: Iterable[Asked]) -> tuple[list[str], list[int]]:
    """Two keys and four bounds of each window."""
    keys: list[str] = []
    bounds: list[int] = []
    for window, bucket in asked:
        keys += _keys(window, bucket)
        most = -1 if window.per_day is None else window.per_day
        together = round(window.together * 1_000_000)
        bounds += (window.size, window.seconds * 1_000_000, most, together)
    return keys, bounds


def _why(error: Exception) -> str:
    """Why Redis is away, for anybody: without an address, and without words of the server."""
    reasons: tuple[tuple[type[Exception], str], ...] = (
        (refusals.BusyLoadingError, "it is loading its data"),
        (refusals.AuthenticationError, "it refuses the name or the password"),
        (refusals.AuthorizationError, "it refuses the name or the password"),
        (refusals.NoPermissionError, "its access list forbids a command"),
        (refusals.ReadOnlyError, "it is a replica, which cannot be written"),
        (refusals.OutOfMemoryError, "its memory is full"),
        (refusals.InvalidResponse, "its answer is not understood"),
        (refusals.TimeoutError, "it does not answer in time"),
        (TimeoutError, "it does not answer in time"),
        (refusals.ConnectionError, "it cannot be reached"),
        (OSError, "it cannot be reached"),
    )
    return next((why for kind, why in reasons if isinstance(error, kind)), "it refuses to count")

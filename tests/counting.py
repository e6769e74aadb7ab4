"""What counts, on a clock that the test sets: the memory of this machine, and Redis."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import redis

from mcp_server.operations.counters import Moment
from mcp_server.operations.counting import Counting
from mcp_server.operations.local_counting import LocalCounting
from mcp_server.operations.redis_counting import PREFIX, RedisCounting
from mcp_server.operations.redis_line import SCRIPT, RedisLine
from tests.redis_server import RedisServer

MIDNIGHT = 20_000 * 86_400.0
CLOCK = f"{PREFIX}clock"

SET_SCRIPT = SCRIPT.replace("redis.call('TIME')", f"redis.call('HMGET', '{CLOCK}', 's', 'us')")
"""The script, on a clock that is kept in Redis."""


class Clock:
    """A time that the test sets, for this machine and for a Redis."""

    def __init__(self, now: float = MIDNIGHT + 43_200, client: redis.Redis | None = None) -> None:
        self._client = client
        self.now = now

    @property
    def now(self) -> float:
        """POSIX seconds."""
        return self._now

    @now.setter
    def now(self, now: float) -> None:
        self._now = now
        if self._client is not None:
            seconds, micro = divmod(round(now * 1_000_000), 1_000_000)
            self._client.hset(CLOCK, mapping={"s": seconds, "us": micro})

    def __call__(self) -> Moment:
        return Moment(self.now, self.now)


@pytest.fixture(params=["memory", pytest.param("redis", marks=pytest.mark.engine)])
def backend(request: pytest.FixtureRequest) -> RedisServer | None:
    """The Redis that counts; None for the memory of this process."""
    if request.param == "memory":
        return None
    server: RedisServer = request.getfixturevalue("shared_redis")
    return server


@pytest.fixture
async def clock(backend: RedisServer | None) -> AsyncIterator[Clock]:
    """The clock of what counts, at noon."""
    if backend is None:
        yield Clock()
        return
    with redis.Redis(port=backend.port) as client:
        client.flushall()
        yield Clock(client=client)


@pytest.fixture
async def counting(backend: RedisServer | None, clock: Clock) -> AsyncIterator[Counting]:
    """What counts, by that clock."""
    if backend is None:
        yield LocalCounting(clock)
        return
    shared = RedisCounting(RedisLine(backend.url, SET_SCRIPT), None)
    assert await shared.look()
    yield shared
    await shared.close()

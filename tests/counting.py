"""What counts, on a clock that the test sets: memory, shared memory, and Redis."""

from __future__ import annotations

import datetime as dt
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import redis

from mcp_server.calls.callers import Caller
from mcp_server.limits import redis_counting
from mcp_server.limits.counting import Counting
from mcp_server.limits.local_counting import LocalCounting
from mcp_server.limits.redis_counting import PREFIX, SCRIPT, RedisCounting
from store.accounts.accounts import Account, AccountPlan
from store.accounts.keys import Key, Principal

MIDNIGHT = 20_000 * 86_400.0
NOON = MIDNIGHT + 43_200
CLOCK = f"{PREFIX}clock"

SET_SCRIPT = SCRIPT.replace("redis.call('TIME')", f"redis.call('HMGET', '{CLOCK}', 's', 'us')")
"""The script, on a clock that is kept in Redis."""


class Clock:
    """A time that the test sets, for this machine and for a Redis."""

    def __init__(self, now: float = NOON, client: redis.Redis | None = None) -> None:
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

    def __call__(self) -> float:
        return self.now


def keyed(prefix: str, account_id: int = 1) -> Caller:
    """Somebody who calls with a key of an account."""
    since = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
    account = Account(account_id, "ada@example.com", AccountPlan.PREMIUM, True, since)
    return Caller("192.0.2.1", Principal(account, Key(prefix, "laptop", since, None)))


class Backend(NamedTuple):
    """One kind of memory, and how another process of the service opens it."""

    clock: Clock
    open: Callable[[], Awaitable[Counting]]


SHARED = ["shared", pytest.param("redis", marks=pytest.mark.engine)]
"""The parameters of what several processes share."""


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Redis is waited for as long as a busy machine may need: the test is not of the wait."""
    monkeypatch.setattr(redis_counting, "WAIT_SECONDS", 30)


@pytest.fixture(params=["memory", *SHARED])
async def backend(
    request: pytest.FixtureRequest, tmp_path: Path, patience: None
) -> AsyncIterator[Backend]:
    """Each kind of memory that counts, empty and at noon."""
    opened: list[Counting] = []

    async def of_redis() -> Counting:
        opened.append(counting := RedisCounting(server.url, None, SET_SCRIPT))
        await counting.look()
        return counting

    async def of_machine() -> Counting:
        opened.append(counting := LocalCounting(folder, monotonic=clock, utc=clock))
        return counting

    if request.param == "redis":
        server = request.getfixturevalue("shared_redis")
        with redis.Redis(port=server.port) as client:
            client.flushall()
            yield Backend(Clock(client=client), of_redis)
    else:
        clock, folder = Clock(), tmp_path / "counters" if request.param == "shared" else None
        yield Backend(clock, of_machine)
    for each in opened:
        await each.close()


@pytest.fixture
def clock(backend: Backend) -> Clock:
    """The clock of what counts."""
    return backend.clock


@pytest.fixture
async def counting(backend: Backend) -> Counting:
    """What counts, by that clock."""
    return await backend.open()

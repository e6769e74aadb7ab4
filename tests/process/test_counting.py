"""Processes that count together admit exactly the quota, in shared memory and in Redis."""

from __future__ import annotations

import multiprocessing
from pathlib import Path

import anyio
import pytest
import redis

from mcp_server.operations.counting import Counting, Window
from mcp_server.operations.local_counting import LocalCounting
from mcp_server.operations.redis_counting import RedisCounting
from mcp_server.operations.redis_line import RedisLine
from tests.counting import NOON, SHARED, Clock

PROCESSES, CALLS = 3, 150
KEYS, ACCOUNTS = Window("keys", 50, 600, 1_000), Window("accounts", 30, 600, 1_000)


async def _counted(place: str, asked: tuple[Window, ...], calls: int) -> int:
    counting: Counting
    if place.startswith("redis:"):
        counting = in_redis = RedisCounting(RedisLine(place), None)
        await in_redis.look()
    else:
        counting = LocalCounting(Clock(NOON), Path(place))
    for window in asked:
        counting.open(window)
    buckets = [(window, "shared") for window in asked]
    counted = sum([(await counting.hit(*buckets)).counted for _ in range(calls)])
    await counting.close()
    return counted


def _count_apart(place: str) -> int:
    return anyio.run(_counted, place, (KEYS, ACCOUNTS), CALLS)


@pytest.fixture(params=SHARED)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where processes count: the folder of shared memory, or the address of an empty Redis."""
    if request.param == "shared":
        return str(tmp_path / "of" / "all")
    server = request.getfixturevalue("shared_redis")
    with redis.Redis(port=server.port) as client:
        client.flushall()
    return str(server.url)


def test_several_processes_admit_exactly_the_quota(place: str) -> None:
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        counted = pool.map(_count_apart, [place] * PROCESSES)

    assert sum(counted) == ACCOUNTS.size
    assert anyio.run(_counted, place, (KEYS,), CALLS) == KEYS.size - ACCOUNTS.size
    if not place.startswith("redis:"):
        assert {path.stat().st_mode & 0o777 for path in Path(place).iterdir()} == {0o600}

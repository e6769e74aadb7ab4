"""CPU of counting one call with a key: in memory, in Redis, and a bare round trip beside it.

    python -m benchmarks.limits [--url redis://HOST:PORT/NUMBER] [--calls N]

Without --url a redis-server is started on a free port. A call counts in two windows, of its key
and of its account. The bare round trip is PING by redis-py with its defaults. The turns of all
contenders are interleaved; the table has the median. User and system time of this
process, and of Redis as it says itself. uvloop is used where it is installed, as the service does.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from importlib.util import find_spec

from redis.asyncio import Redis

from mcp_server.limits.counting import Counting, Window
from mcp_server.limits.local_counting import LocalCounting
from mcp_server.limits.redis_counting import RedisCounting
from tests.redis_server import running_redis

TURNS = 7
CONCURRENT = (1, 32)
KEYS = Window("benchmark-keys", 60, 60, 10_000)
ACCOUNTS = Window("benchmark-accounts", 180, 60, 30_000)
CALLERS = 500
"""Keys that call in turn: fewer calls each than a minute has."""

Ask = Callable[[int], Awaitable[object]]


def counts(counting: Counting) -> Ask:
    """What counts the n-th call."""

    async def ask(n: int) -> object:
        caller = str(n % CALLERS)
        return await counting.hit((KEYS, caller), (ACCOUNTS, caller))

    return ask


async def measured(ask: Ask, calls: int, at_once: int) -> float:
    """Microseconds of this process's CPU a call."""

    async def some(first: int) -> None:
        for n in range(first, calls, at_once):
            await ask(n)

    began = time.process_time()
    await asyncio.gather(*(some(first) for first in range(at_once)))
    return (time.process_time() - began) / calls * 1e6


async def cpu_of(client: Redis) -> float:
    """Seconds of CPU that Redis has used."""
    said = await client.info("cpu")
    return float(said["used_cpu_user"]) + float(said["used_cpu_sys"])


async def compare(url: str, calls: int) -> None:
    """Measure all in turns, and print the table."""
    local, shared = LocalCounting(), RedisCounting(url, None)
    local.open(KEYS)
    local.open(ACCOUNTS)
    async with Redis.from_url(url) as bare, Redis.from_url(url) as asking:
        await shared.look()
        contenders: dict[str, Ask] = {
            "memory": counts(local),
            "Redis": counts(shared),
            "bare PING": lambda _n: bare.ping(),
        }
        ours: dict[tuple[str, int], list[float]] = {}
        theirs: dict[tuple[str, int], list[float]] = {}
        for _ in range(TURNS):
            for at_once in CONCURRENT:
                for name, ask in contenders.items():
                    before = await cpu_of(asking)
                    spent = await measured(ask, calls, at_once)
                    redis = (await cpu_of(asking) - before) / calls * 1e6
                    ours.setdefault((name, at_once), []).append(spent)
                    theirs.setdefault((name, at_once), []).append(redis)
        key = f"{{screener:1}}:{KEYS.name}:*"
        sizes = [await asking.memory_usage(one) or 0 async for one in asking.scan_iter(key)]
    await shared.close()
    print("| counted in | at once | CPU of the service, us a call | CPU of Redis, us a call |")
    print("| --- | ---: | ---: | ---: |")
    for (name, at_once), turns in ours.items():
        redis = statistics.median(theirs[name, at_once])
        print(f"| {name} | {at_once} | {statistics.median(turns):.1f} | {redis:.1f} |")
    print(f"\nLargest key of a bucket that was hit: {max(sizes)} bytes.")


def main() -> None:
    """Parse the command line, and compare."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.limits",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--url", help="a Redis that may be written")
    parser.add_argument("--calls", type=int, default=4_000, help="calls of a turn")
    asked = parser.parse_args()
    factory = None
    if find_spec("uvloop") is not None:
        import uvloop

        factory = uvloop.new_event_loop
    with ExitStack() as stack:
        runner = stack.enter_context(asyncio.Runner(loop_factory=factory))
        each_second = ("--appendfsync", "everysec")
        url = asked.url or stack.enter_context(running_redis(*each_second)).url
        runner.run(compare(url, asked.calls))


if __name__ == "__main__":
    main()

"""Counting in Redis: what it keeps, and that nothing is unlimited while it is away."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import anyio
import pytest
import redis

from mcp_server.limits import redis_counting
from mcp_server.limits.counting import CountersAwayError, Counting, Hit, Hits, RateWindow
from mcp_server.limits.local_counting import LocalCounting
from mcp_server.limits.redis_counting import PREFIX, SCRIPT, RedisCounting
from tests.counting import SET_SCRIPT, Clock
from tests.proxy import proxied
from tests.redis_server import RedisServer

pytestmark = pytest.mark.engine

KEYS = RateWindow("keys", 50, 60, 1_000)
ACCOUNTS = RateWindow("accounts", 80, 60, 1_000)


@asynccontextmanager
async def counting_in(
    server: RedisServer, meanwhile: Counting | None = None, script: str = SCRIPT
) -> AsyncIterator[RedisCounting]:
    counting = RedisCounting(server.url, meanwhile, script)
    for window in (KEYS, ACCOUNTS):
        counting.open(window)
    await counting.look()
    try:
        yield counting
    finally:
        await counting.close()


@pytest.fixture
def client(shared_redis: RedisServer, patience: None) -> Iterator[redis.Redis]:
    """A way of the test's own to an empty Redis."""
    with redis.Redis(port=shared_redis.port, decode_responses=True) as client:
        client.flushall()
        yield client


async def admitted(counting: Counting, calls: int) -> int:
    """How many of calls at once are admitted."""
    asked = (KEYS, "one"), (ACCOUNTS, "1")
    hits = await asyncio.gather(*(counting.hit(*asked) for _ in range(calls)))
    return sum(hit.counted for hit in hits)


async def test_every_key_expires_and_names_nobody(
    shared_redis: RedisServer, client: redis.Redis
) -> None:
    async with counting_in(shared_redis) as counting:
        await counting.hit((KEYS, "ada@example.com"), (ACCOUNTS, "192.0.2.1"))
        await counting.take_back((KEYS, "ada@example.com"))
        await counting.hit((KEYS, "ada@example.com"), (ACCOUNTS, "192.0.2.1"))
        await counting.resume([(KEYS, "eve", 5)])

    keys = list(client.scan_iter())
    assert len(keys) == 6  # two windows with a day, the day of another, that all are known
    assert all(0 < client.ttl(key) <= 2 * 86_400 for key in keys)
    assert all(key.startswith(PREFIX) for key in keys)
    assert not any(name in key for key in keys for name in ("ada", "192.0", "eve"))
    assert max(client.ttl(key) for key in keys if not key.endswith((":day", "known"))) <= 61


async def test_a_clock_of_redis_that_is_set_back_refuses_nobody_for_longer_than_a_window(
    shared_redis: RedisServer, client: redis.Redis
) -> None:
    clock = Clock(client=client)
    async with counting_in(shared_redis, script=SET_SCRIPT) as counting:
        assert await admitted(counting, 60) == 50
        clock.now -= 3_600
        refused = await counting.hit((KEYS, "one"))
        clock.now += 60

        assert (refused.counted, refused.wait) == (False, 60)
        assert await admitted(counting, 60) == 30  # of the account, which has 80
        clock.now += 60
        assert await admitted(counting, 60) == 50


async def test_a_script_that_redis_has_forgotten_is_sent_again(
    shared_redis: RedisServer, client: redis.Redis
) -> None:
    async with counting_in(shared_redis) as counting:
        await admitted(counting, 10)
        client.script_flush()

        assert await admitted(counting, 60) == 40


async def test_nobody_reads_the_answer_of_a_caller_who_left(
    shared_redis: RedisServer, client: redis.Redis
) -> None:
    async with counting_in(shared_redis) as counting:
        await admitted(counting, 1)
        for steps in range(1, 30):  # at each point of the way
            leaving = asyncio.ensure_future(counting.hit((KEYS, "one"), (ACCOUNTS, "1")))
            for _ in range(steps):
                await asyncio.sleep(0)
            leaving.cancel()
            other = await counting.hit((KEYS, f"other {steps}"))
            assert other.each == (Hit(True, KEYS.size - 1, 60, 1),)


async def test_one_of_all_processes_takes_over_the_day_of_a_new_redis(
    shared_redis: RedisServer, client: redis.Redis
) -> None:
    one, other = (RedisCounting(shared_redis.url, None) for _ in range(2))

    assert [await each.look() for each in (one, other, one)] == [True, False, False]
    await one.resume([(KEYS, "a", 999), (ACCOUNTS, "1", 7)])
    hits = [await other.hit((KEYS, "a"), (ACCOUNTS, "1")) for _ in range(2)]
    assert [(hit.counted, hit.each[1].today) for hit in hits] == [(True, 8), (False, 8)]
    assert [await each.look() for each in (one, other)] == [False, False]
    client.flushall()
    assert [await each.look() for each in (other, one)] == [True, False]
    for each in (one, other):
        await each.close()


async def hit(counting: Counting) -> Hits:
    return await counting.hit((KEYS, "one"), (ACCOUNTS, "1"))


AWAY = {
    "stopped": "it cannot be reached",
    "hangs": "it does not answer in time",
    "full": "its memory is full",
    "replica": "it is a replica, which cannot be written",
    "password": "it refuses the name or the password",
    "forbidden": "its access list forbids a command",
}


def harm(server: RedisServer, how: str) -> None:
    """Make a Redis unable to count."""
    if how == "stopped":
        server.stop()
        return
    if how == "hangs":
        server.pause()
        return
    with redis.Redis(port=server.port) as client:
        if how == "full":
            client.config_set("maxmemory", 1)
        elif how == "replica":
            client.replicaof("127.0.0.1", 1)
        elif how == "password":
            client.config_set("requirepass", "secret")
            client.client_kill_filter(_type="normal", skipme=True)
        else:
            client.execute_command("ACL", "SETUSER", "default", "-@scripting")


@pytest.mark.parametrize("how", AWAY)
async def test_while_redis_is_away_this_machine_counts_or_refuses(
    redis_server: RedisServer, how: str
) -> None:
    local = LocalCounting()
    async with (
        counting_in(redis_server, local) as alone,
        counting_in(redis_server) as refusing,
    ):
        assert await admitted(alone, 10) == await admitted(refusing, 10) == 10
        harm(redis_server, how)

        assert await admitted(alone, 60) == KEYS.size
        with pytest.raises(CountersAwayError) as away:
            await hit(refusing)
        assert away.value.wait == 2
        assert [await each.look() for each in (alone, refusing)] == [False, False]
        assert alone.fault == f"The Redis of the limits is away ({AWAY[how]}); " + (
            "each machine counts by itself."
        )
        assert refusing.fault is not None
        assert refusing.fault.endswith("calls are refused.")


async def test_after_one_failure_no_call_waits_until_redis_counts_again(
    redis_server: RedisServer,
) -> None:
    async with counting_in(redis_server) as counting:
        with redis_server.paused():
            with pytest.raises(CountersAwayError):
                await hit(counting)
            steps = 0
            waiting = asyncio.ensure_future(_refused(counting))
            while not waiting.done():
                await asyncio.sleep(0)
                steps += 1
            assert steps <= 2  # no clock is asked: it waited for nothing
        assert counting.is_away

        await counting.look()

        assert (await hit(counting)).counted


async def test_when_another_redis_takes_over_an_address_it_counts_there(
    redis_server: RedisServer, shared_redis: RedisServer, client: redis.Redis
) -> None:
    async with proxied(redis_server.port) as proxy:
        counting = RedisCounting(f"redis://127.0.0.1:{proxy.port}/0", None)
        assert await counting.look()
        harm(redis_server, "replica")  # it answers on the connections that there are
        proxy.lead_to(shared_redis.port)
        with pytest.raises(CountersAwayError):
            await hit(counting)

        assert await counting.look()

        assert (await hit(counting)).counted
        await counting.close()


async def test_so_many_calls_wait_for_redis_and_the_next_is_refused_at_once(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_counting, "MAX_WAITING", 9)
    async with counting_in(redis_server) as counting:
        with redis_server.paused():
            waiting = [asyncio.ensure_future(hit(counting)) for _ in range(9)]
            await anyio.lowlevel.checkpoint()
            with pytest.raises(CountersAwayError, match="too many calls"):
                await hit(counting)
        assert not counting.is_away
        assert all(hits.counted for hits in await asyncio.gather(*waiting))


async def _refused(counting: Counting) -> None:
    with pytest.raises(CountersAwayError):
        await hit(counting)


async def test_a_redis_that_never_was_there_is_away_from_the_start() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        counting = RedisCounting(f"redis://:secret@127.0.0.1:{port}/0", None)

        assert not await counting.look()

        with pytest.raises(CountersAwayError) as away:
            await hit(counting)
        assert "secret" not in f"{away.value!r} {counting.fault} {counting!r}"
        await counting.close()


SPOILED = ("return {}", "return 5", "return {{60}}", "return {{60, 1}, {60, 1}}", "return {'a'}")


@pytest.mark.parametrize("script", SPOILED)
async def test_an_answer_that_is_not_understood_admits_nobody_and_keeps_nobody_waiting(
    shared_redis: RedisServer, script: str
) -> None:
    with anyio.fail_after(30):
        async with counting_in(shared_redis, script=script) as counting:
            for _ in range(2):  # it counts for a look that has the one number that it wants
                await counting.look()
                with pytest.raises(CountersAwayError):
                    await hit(counting)
            assert "not understood" in str(counting.fault)

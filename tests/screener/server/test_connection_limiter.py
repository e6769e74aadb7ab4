"""The limiter: one clock for all connections, however many come and go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from prometheus_client import REGISTRY

from screener.server.connection_limiter import ConnectionLimiter, ConnectionLimits
from tests.screener.server.visitors import Visitor


async def test_many_short_connections_leave_one_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    timers: list[Callable[[], None]] = []
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "call_later", lambda _seconds, look: timers.append(look))
    door = ConnectionLimiter(ConnectionLimits())

    for _ in range(100):
        visitor = Visitor()
        assert door.admit(visitor)
        door.leave(visitor)
    assert len(timers) == 1

    timers.pop()()
    assert timers == []  # nobody is left to watch

    assert door.admit(Visitor())
    for _ in range(3):
        assert len(timers) == 1
        timers.pop()()
    assert len(timers) == 1


@pytest.mark.parametrize(
    ("limit", "count", "last"),
    [("connections", 8, "192.0.2.99"), ("connections_of_network", 2, "192.0.2.0")],
)
async def test_a_connection_is_counted_as_refused_only_if_nobody_gave_way(
    limit: str, count: int, last: str
) -> None:
    def refused() -> float:
        name = "screener_limits_hit_total"
        return REGISTRY.get_sample_value(name, {"limit": limit}) or 0

    door, before = ConnectionLimiter(ConnectionLimits(connections=8)), refused()
    several = limit == "connections"
    visitors = [Visitor(f"192.0.2.{place * several}") for place in range(count)]
    assert all(map(door.admit, visitors))
    newcomer = Visitor(last)
    assert door.admit(newcomer)
    assert visitors[0].is_ended
    assert refused() == before

    door.waiting.clear()  # each has sent a request
    assert not door.admit(Visitor(last))
    assert refused() == before + 1

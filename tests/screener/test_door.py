"""The door: one clock for all connections, however many come and go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from screener.door import Bounds, Door


class Visitor:
    """A connection that does nothing."""

    address = network = "192.0.2.1"

    def is_late(self, now: float) -> bool:
        return now < 0

    def end_late(self) -> None:
        raise AssertionError("No time is up.")

    end = end_late


async def test_many_short_connections_leave_one_timer(monkeypatch: pytest.MonkeyPatch) -> None:
    timers: list[Callable[[], None]] = []
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "call_later", lambda _seconds, look: timers.append(look))
    door = Door(Bounds())

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

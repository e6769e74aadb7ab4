"""Turns: a few drawings at once, and nobody waits behind all requests of another."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from web import turns
from web.refusals import Refusal
from web.turns import EACH, TOGETHER, WAITING, Turns


async def test_one_visitor_has_a_few_turns_at_once_and_all_visitors_have_more() -> None:
    row, most = Turns(), {"one": 0, "all": 0}
    under_way: list[str] = []

    async def draw(visitor: str) -> None:
        async with row.turn(visitor):
            under_way.append(visitor)
            most["one"] = max(most["one"], under_way.count(visitor))
            most["all"] = max(most["all"], len(under_way))
            for _ in range(5):
                await anyio.lowlevel.checkpoint()
            under_way.remove(visitor)

    async with anyio.create_task_group() as group:
        for number in range(100):
            group.start_soon(draw, f"visitor {number // 10}")

    assert most == {"one": EACH, "all": TOGETHER}


async def test_a_visitor_with_many_requests_leaves_room_for_another() -> None:
    row, release = Turns(), anyio.Event()
    under_way: list[str] = []

    async def hold(visitor: str) -> None:
        async with row.turn(visitor):
            under_way.append(visitor)
            await release.wait()

    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(hold, "greedy")
        await anyio.wait_all_tasks_blocked()
        group.start_soon(hold, "modest")
        await anyio.wait_all_tasks_blocked()
        at_once = list(under_way)
        release.set()

    assert at_once == ["greedy"] * EACH + ["modest"]


async def test_more_requests_than_may_wait_are_refused_and_leave_no_trace() -> None:
    row, release = Turns(), anyio.Event()

    async def hold(number: int) -> None:
        async with row.turn(f"visitor {number}"):
            await release.wait()

    async with anyio.create_task_group() as group:
        for number in range(WAITING):
            group.start_soon(hold, number)
        await anyio.wait_all_tasks_blocked()
        with pytest.raises(Refusal) as refused:
            async with row.turn("late"):
                pass
        assert (refused.value.status, refused.value.retry_after) == (503, 2)
        release.set()
    async with row.turn("late"):
        pass


async def test_a_wait_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    row, release = Turns(), anyio.Event()

    async def hold() -> None:
        async with row.turn("same"):
            await release.wait()

    async with anyio.create_task_group() as group:
        for _ in range(EACH):
            group.start_soon(hold)
        await anyio.wait_all_tasks_blocked()
        monkeypatch.setattr(turns, "LONGEST", 0)
        with pytest.raises(Refusal, match="Too many charts"):
            async with row.turn("same"):
                pass
        release.set()

"""Counting: the same windows, days and answers, whichever memory counts."""

from __future__ import annotations

import asyncio
import math
from bisect import bisect_right

import numpy as np
import pytest

from mcp_server.limits.counting import Counting, Hit, RateWindow
from tests.counting import SHARED, Backend, Clock

DAY = 86_400
EVENING = 43_199
"""Seconds from noon to a second before midnight."""

Step = tuple[float, tuple[bool, int, float, int] | str]
"""At so many seconds after noon: a hit and what becomes of it, or that the newest is taken back."""

BACK = "take back"
STEPS: dict[str, tuple[RateWindow, list[Step]]] = {
    "what is left, and when more is, until exactly the length of the window later": (
        RateWindow("w", 3, 60, 9),
        [
            *((0, (True, 2, 60, 1)), (1, (True, 1, 59, 2)), (2, (True, 0, 58, 3))),
            *((3, (False, 0, 57, 3)), (59.5, (False, 0, 0.5, 3)), (60, (True, 0, 1, 4))),
        ],
    ),
    "the day has its own bound and ends at midnight UTC": (
        RateWindow("w", 9, 60, 2),
        [
            *((EVENING, (True, 8, 60, 1)), (EVENING, (True, 7, 60, 2))),
            *((EVENING, (False, 7, 60, 2)), (EVENING + 1, (True, 6, 59, 1))),
        ],
    ),
    "a refusal for the day waits for no window": (
        RateWindow("w", 5, 60, 1),
        [(0, (True, 4, 60, 1)), (60, (False, 5, 0, 1))],
    ),
    "around midnight the day that was counted goes on": (
        RateWindow("w", 9, 60, 2),
        [
            *((EVENING + 2, (True, 8, 60, 1)), (EVENING + 62, (True, 8, 60, 2))),
            *((EVENING + 200, (False, 9, 0, 2)), (EVENING, (False, 9, 0, 2))),
            (EVENING + 1 + DAY, (True, 8, 60, 1)),
        ],
    ),
    "what is taken back leaves room for another": (
        RateWindow("w", 2, 60, 9),
        [
            *((0, (True, 1, 60, 1)), (1, (True, 0, 59, 2)), (2, BACK)),
            *((3, (True, 0, 57, 2)), (4, (False, 0, 56, 2))),
        ],
    ),
    "what is taken back is the newest of the window and of the day": (
        RateWindow("w", 3, 60, 3),
        [
            *((0, (True, 2, 60, 1)), (10, (True, 1, 50, 2)), (20, (True, 0, 40, 3)), (20, BACK)),
            *((30, (True, 0, 30, 3)), (60, (False, 1, 10, 3))),
        ],
    ),
    "what left the window is not taken back": (
        RateWindow("w", 3, 60, 1),
        [
            *((0, (True, 2, 60, 1)), (59.5, BACK), (59.5, (True, 2, 60, 1))),
            *((119.5, BACK), (119.5, (False, 3, 0, 1))),
        ],
    ),
    "hits of one second leave together, the last of them after exactly the window": (
        RateWindow("w", 100, 60, 900),
        [
            *((0.25, (True, 99, 60, 1)), (0.75, (True, 98, 60, 2)), (1, (True, 97, 59.75, 3))),
            *(
                (60.25, (True, 96, 0.5, 4)),
                (60.75, (True, 97, 0.25, 5)),
                (61, (True, 97, 59.75, 6)),
            ),
        ],
    ),
    "what is taken back of hits of one second leaves the others": (
        RateWindow("w", 100, 60, 900),
        [
            *((0.25, (True, 99, 60, 1)), (0.5, (True, 98, 60, 2)), (0.5, BACK)),
            *((2, (True, 98, 58.5, 2)), (2, BACK), (2, BACK), (2, BACK)),
            (2, (True, 99, 60, 1)),
        ],
    ),
    "what is taken back of a later second leaves nothing of that second": (
        RateWindow("w", 100, 60, 900),
        [
            *((0, (True, 99, 60, 1)), (10, (True, 98, 50, 2)), (10, BACK)),
            (65, (True, 99, 60, 2)),
        ],
    ),
    **{
        f"taking back more than was counted gives nothing away, of {size}": (
            RateWindow("w", size, 60, 9),
            [
                (0, (True, size - 1, 60, 1)),
                *((1, BACK) for _ in range(5)),
                *((2, (True, size - n, 60, n)) for n in range(1, size + 1)),
                (2, (False, 0, 60, size)),
            ],
        )
        for size in (1, 2)
    },
}


@pytest.mark.parametrize("name", STEPS)
async def test_each_call_is_told_its_window_and_its_day(
    counting: Counting, clock: Clock, name: str
) -> None:
    window, steps = STEPS[name]
    asked, noon = (counting.open(window), "a"), clock.now
    for number, (second, expected) in enumerate(steps):
        clock.now = noon + second
        if isinstance(expected, str):
            await counting.take_back(asked)
            continue
        hits = await counting.hit(asked)
        assert hits.each == (expected,), number
        assert (hits.counted, hits.midnight) == (expected[0], DAY - int(clock.now) % DAY), number
        assert hits.wait == (1 if expected[0] else max(1, math.ceil(expected[2]))), number


@pytest.mark.parametrize(("size", "pause"), [(5, 6), (61, 0.6), (62, 0.6), (300, 0.1)])
async def test_no_window_ever_holds_more_calls_than_allowed(
    counting: Counting, clock: Clock, size: int, pause: float
) -> None:
    """A call is refused for less than a second longer than the window asks for, if at all."""
    window, times = counting.open(RateWindow("w", size, 60)), list[float]()
    for wait in np.random.default_rng(1).exponential(pause, 2_000):
        clock.now += round(float(wait), 3)
        hits = await counting.hit((window, "a"))
        if hits.counted:
            times.append(clock.now)
        else:
            assert len(times) - bisect_right(times, clock.now - 61) >= size
            assert hits.each[0].left == 0
            assert 0 < hits.each[0].reset <= 60

    assert all(n - bisect_right(times, at - 60) < size for n, at in enumerate(times))
    assert 400 < len(times) < 1_900


@pytest.mark.parametrize("size", [3, 60, 200])
async def test_who_waits_as_long_as_told_is_counted(
    counting: Counting, clock: Clock, size: int
) -> None:
    window = counting.open(RateWindow("w", size, 60))
    while (hits := await counting.hit((window, "a"))).counted:
        clock.now += round(50 / size, 3)

    clock.now += hits.wait

    assert (await counting.hit((window, "a"))).counted
    assert hits.wait <= 60


async def test_of_calls_at_once_so_many_are_counted_as_fit(counting: Counting) -> None:
    keys, accounts = (counting.open(RateWindow(name, 50, 60, 99)) for name in ("keys", "accounts"))
    hits = await asyncio.gather(
        *(counting.hit((keys, "a"), (accounts, str(n % 2))) for n in range(60))
    )

    assert sum(each.counted for each in hits) == 50
    assert (await counting.hit((keys, "b"))).each[0].left == 49


async def test_a_full_window_keeps_the_others_from_counting(counting: Counting) -> None:
    wide, small = (
        counting.open(RateWindow("wide", 50, 60, 99)),
        counting.open(RateWindow("s", 1, 60, 5)),
    )
    hits = [await counting.hit((wide, "a"), (small, "b")) for _ in range(3)]
    first = await counting.hit((small, "b"), (wide, "new"))
    alone = await counting.hit((wide, "a"))

    assert [hit.counted for hit in hits] == [True, False, False]
    assert hits[2].each[0] == Hit(True, 49, 60, 1)
    assert first.each[1] == Hit(True, 50, 0, 0)
    assert (alone.each[0].left, alone.each[0].today) == (48, 2)


async def test_a_day_goes_on_where_others_left_it_however_often_that_is_said(
    counting: Counting, clock: Clock
) -> None:
    window = counting.open(RateWindow("w", 9, 60, 7))
    for calls in (5, 5, 3):
        await counting.resume([(window, "a", calls)])

    todays = [(await counting.hit((window, "a"))).each[0] for _ in range(3)]
    clock.now += DAY

    assert [(hit.fits, hit.today) for hit in todays] == [(True, 6), (True, 7), (False, 7)]
    assert (await counting.hit((window, "a"))).each[0].today == 1


async def test_what_is_resumed_adds_no_call_and_loses_none_where_a_clock_is_set_back_over_midnight(
    counting: Counting, clock: Clock
) -> None:
    window = counting.open(RateWindow("w", 9, 60, 7))
    await counting.resume([(window, "b", 0)])
    assert (await counting.hit((window, "b"))).each[0].today == 1
    clock.now += DAY - clock.now % DAY + 1  # a second after midnight
    for _ in range(3):
        await counting.hit((window, "a"))

    clock.now -= 2
    await counting.resume([(window, "a", 1)])

    assert (await counting.hit((window, "a"))).each[0].today == 4


@pytest.mark.parametrize("backend", SHARED, indirect=True)
async def test_several_that_are_open_count_together(
    backend: Backend, counting: Counting, clock: Clock
) -> None:
    one, other = counting, await backend.open()
    window, _ = (each.open(RateWindow("w", 50, 60, 99)) for each in (one, other))

    async def admitted(counting: Counting, calls: int) -> int:
        return sum([(await counting.hit((window, "a"))).counted for _ in range(calls)])

    assert await admitted(one, 30) == 30
    clock.now += 20
    assert await admitted(other, 30) == 20
    clock.now += 39.5
    assert await admitted(one, 1) == 0
    clock.now += 0.5
    assert await admitted(other, 60) == 30
    await other.take_back((window, "a"))
    assert (await one.hit((window, "a"))).each[0].left == 0

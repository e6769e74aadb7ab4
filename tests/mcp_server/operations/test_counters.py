"""The counters: exact in one process and over several, and bounded for any number of callers."""

from __future__ import annotations

import multiprocessing
from bisect import bisect_right
from pathlib import Path

import numpy as np
import pytest

from mcp_server.operations.counters import SLOTS, Counters, CountersError

DAY = 86_400
NOON = 20_000 * DAY + 43_200.0


def test_no_window_ever_holds_more_calls_than_allowed() -> None:
    counters = Counters(5, 60)
    generator = np.random.default_rng(1)
    now, counted = NOON, []
    for _ in range(5_000):
        now += float(generator.exponential(6))
        if counters.hit("a", now).counted:
            counted.append(now)

    for moment in counted:
        assert bisect_right(counted, moment) - bisect_right(counted, moment - 60) <= 5
    refused = 5_000 - len(counted)
    assert 1_000 < refused < 4_000


def test_a_call_counts_until_exactly_the_length_of_the_window_later() -> None:
    counters = Counters(2, 60)
    assert [counters.hit("a", NOON + at).counted for at in (0, 10)] == [True, True]

    assert not counters.hit("a", NOON + 59.999).counted
    hit = counters.hit("a", NOON + 60)

    assert (hit.counted, hit.left, hit.reset) == (True, 0, 10.0)


def test_what_is_left_and_when_more_is_are_told_at_every_step() -> None:
    counters = Counters(3, 60)

    hits = [counters.hit("a", NOON + at) for at in (0, 1, 2, 3)]

    assert [(hit.counted, hit.left, hit.reset) for hit in hits] == [
        (True, 2, 60.0),
        (True, 1, 59.0),
        (True, 0, 58.0),
        (False, 0, 57.0),
    ]


def test_a_day_has_its_own_bound_and_ends_at_midnight_utc() -> None:
    counters = Counters(100, 60, per_day=2)
    before = 20_001 * DAY - 1.0

    assert [counters.hit("a", before).counted for _ in range(3)] == [True, True, False]
    hit = counters.hit("a", before + 1)

    assert (hit.counted, hit.today) == (True, 1)


def test_a_call_taken_back_leaves_room_for_another() -> None:
    counters = Counters(2, 60)
    for at in (0, 1):
        counters.hit("a", NOON + at)

    counters.take_back("a", NOON + 2)

    assert counters.hit("a", NOON + 3).counted
    assert not counters.hit("a", NOON + 4).counted


def test_taking_back_more_than_was_counted_gives_nothing_away() -> None:
    counters = Counters(2, 60)
    counters.hit("a", NOON)
    for _ in range(5):
        counters.take_back("a", NOON + 1)

    assert [counters.hit("a", NOON + 2).counted for _ in range(3)] == [True, True, False]


def test_a_clock_that_is_set_back_locks_nobody_out() -> None:
    counters = Counters(1, 60)
    counters.hit("a", NOON + 3_600)

    assert counters.hit("a", NOON).counted


def test_more_callers_than_slots_share_what_is_left_and_get_no_more() -> None:
    counters = Counters(1, 60)

    counted = sum(counters.hit(f"caller {n}", NOON).counted for n in range(SLOTS + 5_000))

    assert SLOTS // 2 < counted <= SLOTS + 1
    # New buckets that find no slot share one, and its single call is used up.
    assert (
        sum(counters.hit(f"newcomer {n}", NOON).counted for n in range(200)) <= SLOTS - counted + 1
    )
    assert not any(counters.hit(f"caller {n}", NOON).counted for n in range(100))


def test_slots_are_taken_over_once_their_calls_are_spent() -> None:
    counters = Counters(1, 60)
    for n in range(SLOTS + 5_000):
        counters.hit(f"caller {n}", NOON)

    assert all(counters.hit(f"later {n}", NOON + 61).counted for n in range(1_000))


def _count(file: Path, calls: int) -> int:
    counters = Counters(50, 60, 1_000, file)
    return sum(counters.hit("shared", NOON).counted for _ in range(calls))


def test_several_processes_count_together(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(4) as pool:
        counted = pool.starmap(_count, [(tmp_path / "keys", 100)] * 4)

    assert sum(counted) == 50


def test_a_file_that_cannot_be_shared_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(CountersError, match="run one worker"):
        Counters(5, 60, file=tmp_path / "file" / "keys")

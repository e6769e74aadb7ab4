"""The counters: exact in one process and over several, and bounded for any number of callers."""

from __future__ import annotations

import multiprocessing
from bisect import bisect_right
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import anyio
import numpy as np
import pytest

from mcp_server.operations.counters import (
    MOST_BYTES,
    SLOTS,
    WORD,
    Counters,
    CountersError,
    Moment,
)
from mcp_server.operations.counting import CountersFullError, Window
from mcp_server.operations.local_counting import LocalCounting

DAY = 86_400
NOON = 20_000 * DAY + 43_200.0


def at(seconds: float) -> Moment:
    """A time that is the same on both clocks."""
    return Moment(seconds, seconds)


def test_no_window_ever_holds_more_calls_than_allowed() -> None:
    counters = Counters(5, 60)
    generator = np.random.default_rng(1)
    now, counted = NOON, []
    for _ in range(5_000):
        now += float(generator.exponential(6))
        if counters.hit("a", at(now)).fits:
            counted.append(now)

    for moment in counted:
        assert bisect_right(counted, moment) - bisect_right(counted, moment - 60) <= 5
    refused = 5_000 - len(counted)
    assert 1_000 < refused < 4_000


def test_a_call_counts_until_exactly_the_length_of_the_window_later() -> None:
    counters = Counters(2, 60)
    assert [counters.hit("a", at(NOON + second)).fits for second in (0, 10)] == [True, True]

    assert not counters.hit("a", at(NOON + 59.999)).fits
    hit = counters.hit("a", at(NOON + 60))

    assert (hit.fits, hit.left, hit.reset) == (True, 0, 10.0)


def test_what_is_left_and_when_more_is_are_told_at_every_step() -> None:
    counters = Counters(3, 60)

    hits = [counters.hit("a", at(NOON + second)) for second in (0, 1, 2, 3)]

    assert [(hit.fits, hit.left, hit.reset) for hit in hits] == [
        (True, 2, 60.0),
        (True, 1, 59.0),
        (True, 0, 58.0),
        (False, 0, 57.0),
    ]


def test_a_day_has_its_own_bound_and_ends_at_midnight_utc() -> None:
    counters = Counters(100, 60, per_day=2)
    before = 20_001 * DAY - 1.0

    assert [counters.hit("a", at(before)).fits for _ in range(3)] == [True, True, False]
    hit = counters.hit("a", at(before + 1))

    assert (hit.fits, hit.today) == (True, 1)


def test_a_call_taken_back_leaves_room_for_another() -> None:
    counters = Counters(2, 60)
    for second in (0, 1):
        counters.hit("a", at(NOON + second))

    counters.take_back("a", at(NOON + 2))

    assert counters.hit("a", at(NOON + 3)).fits
    assert not counters.hit("a", at(NOON + 4)).fits


@pytest.mark.parametrize("size", [1, 2])
def test_taking_back_more_than_was_counted_gives_nothing_away(size: int) -> None:
    counters = Counters(size, 60)
    counters.hit("a", at(NOON))
    for _ in range(5):
        counters.take_back("a", at(NOON + 1))

    assert [counters.hit("a", at(NOON + 2)).fits for _ in range(size + 1)] == [True] * size + [
        False
    ]


def test_slots_are_taken_over_once_their_calls_are_spent() -> None:
    counters = Counters(1, 60)
    for n in range(SLOTS + 5_000):
        counters.hit(f"caller {n}", at(NOON))

    assert all(counters.hit(f"later {n}", at(NOON + 61)).fits for n in range(1_000))


CROWD = 8
SIZE = MOST_BYTES // (CROWD * WORD)
"""So many hits that a table has room for eight slots only."""


def crowded(now: float = NOON, per_day: int | None = None) -> Counters:
    """Counters whose eight slots have owners, who have called once."""
    counters = Counters(SIZE, 60, per_day)
    assert {counters.hit(f"owner {n}", at(now)).left for n in range(CROWD)} == {SIZE - 1}
    return counters


def test_of_a_full_table_the_bucket_unseen_for_longest_gives_up_its_slot() -> None:
    counters = crowded()
    for n in (0, *range(2, CROWD)):  # owner 1 is not seen again
        counters.hit(f"owner {n}", at(NOON + 1))

    assert counters.hit("newcomer", at(NOON + 2)).left == SIZE - 1

    left = [counters.hit(f"owner {n}", at(NOON + 3)).left for n in (0, *range(2, CROWD))]
    assert left == [SIZE - 3] * (CROWD - 1)


def test_a_refused_call_shows_that_its_bucket_is_still_there() -> None:
    counters = crowded()
    for second in range(1, 3):
        for n in range(CROWD):
            if n != 5:
                counters.hit(f"owner {n}", at(NOON + second))

    counters.hit("newcomer", at(NOON + 4))

    assert counters.hit("owner 0", at(NOON + 5)).left == SIZE - 4


def test_any_number_of_new_callers_takes_no_call_from_those_who_keep_calling() -> None:
    counters = Counters(200, 60)
    slots = counters._slots
    for n in range(slots + slots // 2):
        assert counters.hit(f"caller {n}", at(NOON)).left == 199
    left = []
    for second in range(1, 4):  # after the others: who called longest ago gives way
        left.append(counters.hit("honest", at(NOON + second)).left)
        for n in range(slots // 16):
            counters.hit(f"newcomer {second} {n}", at(NOON + second))

    assert left == [199, 198, 197]


def test_nobody_can_tell_which_buckets_are_neighbours() -> None:
    one, other = (Counters(1, 60) for _ in range(2))

    assert one._key != other._key
    assert len({*one._key}) > 1


def test_a_clock_that_was_a_month_ahead_for_once_holds_up_no_day() -> None:
    counters = Counters(9, 60, per_day=2)
    counters.hit("a", Moment(100, NOON + 30 * DAY))

    assert [counters.hit("a", Moment(101, NOON)).today for _ in range(2)] == [1, 2]
    assert counters.hit("a", Moment(102, NOON + DAY)).today == 1


def test_counts_of_a_day_are_never_given_up() -> None:
    counters = crowded(per_day=2)

    with pytest.raises(CountersFullError):
        counters.hit("newcomer", at(NOON))

    assert [counters.hit("owner 0", at(NOON)).fits for _ in range(2)] == [True, False]


def test_a_slot_whose_day_counts_is_free_once_the_day_is_over() -> None:
    counters = crowded(per_day=2)
    evening, midnight = NOON + 43_199, NOON + 43_200

    with pytest.raises(CountersFullError):
        counters.hit("newcomer", at(evening))
    own = [counters.hit(f"newcomer {n}", at(midnight)) for n in range(3)]

    assert {(hit.fits, hit.left, hit.today) for hit in own} == {(True, SIZE - 1, 1)}


def test_a_table_half_full_of_kept_counts_has_a_slot_for_everyone() -> None:
    counters = Counters(2_000, 60, per_day=5)
    buckets = [f"key {n}" for n in range(counters._slots // 2)]
    for bucket in buckets:
        counters.hit(bucket, at(NOON))

    assert {counters.hit(bucket, at(NOON + 61)).today for bucket in buckets} == {2}


def test_around_midnight_the_day_that_was_counted_goes_on() -> None:
    counters = Counters(9, 60, per_day=2)
    midnight = 20_001 * DAY
    for _ in range(2):
        counters.hit("a", Moment(100, midnight + 1))

    assert not counters.hit("a", Moment(101, midnight - 1)).fits


def test_the_window_does_not_follow_a_clock_that_is_set() -> None:
    counters = Counters(1, 60)
    counters.hit("a", Moment(100, NOON))

    assert not counters.hit("a", Moment(101, NOON + 3_600)).fits
    assert counters.hit("a", Moment(160, NOON - 3_600)).fits


def test_a_day_goes_on_where_an_earlier_process_left_it() -> None:
    counters = Counters(9, 60, per_day=5)

    counters.resume("a", 4, at(NOON))

    assert [counters.hit("a", at(NOON + 1)).fits for _ in range(2)] == [True, False]
    assert counters.hit("a", at(NOON + DAY)).today == 1


def test_a_slot_that_is_taken_over_begins_anew() -> None:
    counters = crowded(per_day=3)
    for n in range(CROWD):
        counters.hit(f"owner {n}", at(NOON))
    tomorrow = NOON + DAY

    hits = [counters.hit(f"newcomer {n}", at(tomorrow)) for n in range(CROWD)]

    assert {(hit.left, hit.reset, hit.today) for hit in hits} == {(SIZE - 1, 60.0, 1)}


def test_an_owner_finds_its_slot_again_behind_others_that_are_spent() -> None:
    counters = crowded()

    hits = [counters.hit(f"owner {n}", at(NOON + 61)) for n in range(CROWD)]

    assert {hit.today for hit in hits} == {2}


def test_a_refusal_for_the_day_waits_for_no_window() -> None:
    counters = Counters(5, 60, per_day=1)
    counters.hit("a", at(NOON))

    assert counters.hit("a", at(NOON + 60)) == (False, 5, 0.0, 1)


def test_a_call_taken_back_is_the_newest_of_the_window_and_of_the_day() -> None:
    counters = Counters(3, 60, per_day=3)
    for second in (0, 10, 20):
        counters.hit("a", at(NOON + second))

    counters.take_back("a", at(NOON + 20))
    hit = counters.hit("a", at(NOON + 30))

    assert hit == (True, 0, 30.0, 3)
    assert counters.hit("a", at(NOON + 60)) == (False, 1, 10.0, 3)


@pytest.mark.parametrize(("later", "taken_back"), [(59.9, True), (60, False)])
def test_a_call_that_left_the_window_is_not_taken_back(later: float, taken_back: bool) -> None:
    counters = Counters(3, 60, per_day=1)
    counters.hit("a", at(NOON))

    counters.take_back("a", at(NOON + later))

    assert counters.hit("a", at(NOON + later)).fits is taken_back


async def _count(folder: Path, calls: int) -> int:
    counting = LocalCounting(lambda: at(NOON), folder)
    keys = counting.open(Window("keys", 50, 60, 1_000))
    accounts = counting.open(Window("accounts", 30, 60, 1_000))
    asked = (keys, "shared"), (accounts, "shared")
    counted = sum([(await counting.hit(*asked)).counted for _ in range(calls)])
    await counting.close()
    return counted


def _count_apart(folder: Path, calls: int) -> int:
    return anyio.run(_count, folder, calls)


def test_several_processes_count_together(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with context.Pool(4) as pool:
        counted = pool.starmap(_count_apart, [(tmp_path, 100)] * 4)

    assert sum(counted) == 30
    assert anyio.run(_left_of_keys, tmp_path) == 20


async def _left_of_keys(folder: Path) -> int:
    counting = LocalCounting(lambda: at(NOON), folder)
    keys = counting.open(Window("keys", 50, 60, 1_000))
    counted = sum([(await counting.hit((keys, "shared"))).counted for _ in range(50)])
    await counting.close()
    return counted


def test_counters_over_one_file_count_together_and_let_go_of_it(tmp_path: Path) -> None:
    file = tmp_path / "of" / "all" / "keys"
    one, other = both = [Counters(2, 60, 10, file) for _ in range(2)]

    assert one.hit("a", at(NOON)) == (True, 1, 60.0, 1)
    assert other.hit("a", at(NOON)) == (True, 0, 60.0, 2)
    other.take_back("a", at(NOON))
    assert one.hit("a", at(NOON + 1)) == (True, 0, 59.0, 2)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as apart:
        assert not apart.submit(_left_by_others, file).result()
    assert file.stat().st_mode & 0o777 == 0o600
    for counters in both:
        counters._file.close()  # type: ignore[union-attr]


def _left_by_others(file: Path) -> bool:
    counters = Counters(2, 60, 10, file)
    return counters.hit("a", at(NOON + 1)).fits


def test_a_file_that_cannot_be_shared_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(CountersError, match="run one worker"):
        Counters(5, 60, file=tmp_path / "file" / "keys")

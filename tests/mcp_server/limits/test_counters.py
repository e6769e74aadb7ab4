"""The counters of this machine: bounded for any number of callers, and no clock misleads them.

What they count is held in test_counting.py.
"""

from __future__ import annotations

import stat
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from mcp_server.limits.counting import CountersFullError, Hit, Hits, RateWindow
from mcp_server.limits.local_counting import (
    FULL,
    FULL_SECONDS,
    GONE,
    SLOTS,
    STRANGERS_BYTES,
    STRANGERS_KNOWN,
    WORD,
    Counters,
    CountersError,
    LocalCounting,
    Moment,
)

DAY = 86_400
NOON = 20_000 * DAY + 43_200.0
BOOT = 19_990 * DAY
"""When the machine began, from which its monotonic clock counts."""


class Table:
    """The counters of one window, on clocks that the test sets at each call."""

    def __init__(
        self,
        size: int,
        per_day: int | None = None,
        folder: Path | None = None,
        slots: int = SLOTS,
    ) -> None:
        self._at: Moment = (0, 0)
        self.counting = LocalCounting(
            folder, monotonic=lambda: self._at[0], utc=lambda: self._at[1], slots=slots
        )
        self._window = self.counting.open(RateWindow("w", size, 60, per_day))

    def hit(self, bucket: str, monotonic: float, utc: float | None = None) -> Hit:
        """What becomes of a call at a time of both clocks, unless another time of day is told."""
        self._at = (monotonic - BOOT, monotonic if utc is None else utc)
        try:
            self.counting.hit((self._window, bucket)).send(None)
        except StopIteration as ended:
            hits: Hits = ended.value
            return hits.each[0]
        raise AssertionError("It waits for something.")


Share = Callable[..., Table]


@pytest.fixture
async def share(tmp_path: Path) -> AsyncIterator[Share]:
    """What opens a table as each process does that shares its file."""
    async with AsyncExitStack() as opened:

        def share(size: int, per_day: int | None = None, *, slots: int = SLOTS) -> Table:
            table = Table(size, per_day, tmp_path, slots)
            opened.push_async_callback(table.counting.close)
            return table

        yield share


def test_slots_are_taken_over_once_their_calls_are_spent() -> None:
    counters, slots = Table(999), Counters(RateWindow("w", 999, 60)).slots
    for n in range(slots + 99):
        counters.hit(f"caller {n}", NOON)

    assert {counters.hit(f"later {n}", NOON + 60).left for n in range(slots)} == {998}


def test_a_new_caller_takes_no_slot_whose_calls_still_count() -> None:
    counters, callers = Table(9, slots=4096), [f"caller {n}" for n in range(600)]
    for second in (0, 30, 40):
        for caller in callers:
            counters.hit(caller, NOON + second)
    for n in range(600):
        counters.hit(f"newcomer {n}", NOON + 61)

    assert {counters.hit(caller, NOON + 62).left for caller in callers} == {6}


def fault_of(counting: LocalCounting) -> str | None:
    """What it tells now."""
    return counting.fault


CROWD = 8
"""Slots of a small table."""
SIZE = 50


def crowded(per_day: int | None = None, share: Share = Table) -> Table:
    """Counters whose eight slots have owners, who have called once."""
    counters = share(SIZE, per_day, slots=CROWD)
    assert {counters.hit(f"owner {n}", NOON).left for n in range(CROWD)} == {SIZE - 1}
    return counters


def test_of_a_full_table_the_bucket_unseen_for_longest_gives_up_its_slot() -> None:
    counters = crowded()
    for n in (0, *range(2, CROWD)):  # owner 1 is not seen again
        counters.hit(f"owner {n}", NOON + 1)

    assert counters.hit("newcomer", NOON + 2).left == SIZE - 1

    left = [counters.hit(f"owner {n}", NOON + 3).left for n in (0, *range(2, CROWD))]
    assert left == [SIZE - 3] * (CROWD - 1)
    assert counters.hit("owner 1", NOON + 4).left == SIZE - 1


def test_a_refused_call_shows_that_its_bucket_is_still_there() -> None:
    counters = crowded()
    for second in range(1, 3):
        for n in range(CROWD):
            if n != 5:
                counters.hit(f"owner {n}", NOON + second)

    counters.hit("newcomer", NOON + 4)

    assert counters.hit("owner 0", NOON + 5).left == SIZE - 4


def test_any_number_of_new_callers_takes_no_call_from_those_who_keep_calling() -> None:
    counters, slots = Table(200), Counters(RateWindow("w", 200, 60)).slots
    for n in range(slots + slots // 2):
        assert counters.hit(f"caller {n}", NOON).left == 199
    left = []
    for second in range(1, 4):  # after the others: who called longest ago gives way
        left.append(counters.hit("honest", NOON + second).left)
        for n in range(slots // 16):
            counters.hit(f"newcomer {second} {n}", NOON + second)

    assert left == [199, 198, 197]


def test_nobody_can_tell_which_buckets_are_neighbours() -> None:
    one, other = (Counters(RateWindow("w", 1, 60)) for _ in range(2))

    tags = [[each.slot(f"caller {n}", (NOON, NOON))[0] for n in range(9)] for each in (one, other)]
    assert one.key != other.key
    assert len({*one.key}) > 1
    assert set(tags[0]).isdisjoint(tags[1])


def test_strangers_fill_no_memory_with_the_places_of_their_buckets() -> None:
    counters = Counters(RateWindow("w", 1, 60))
    for n in range(2 * STRANGERS_KNOWN):
        counters.slot(f"caller {n}", (NOON, NOON))

    assert len(counters.known) <= STRANGERS_KNOWN


def test_a_clock_that_was_a_month_ahead_for_once_holds_up_no_day() -> None:
    counters = Table(9, per_day=2)
    counters.hit("a", 100, NOON + 30 * DAY)

    assert [counters.hit("a", 101, NOON).today for _ in range(2)] == [1, 2]
    assert counters.hit("a", 102, NOON + DAY).today == 1


def test_counts_of_a_day_are_never_given_up() -> None:
    counters = crowded(per_day=2)

    with pytest.raises(CountersFullError):
        counters.hit("newcomer", NOON)

    assert [counters.hit("owner 0", NOON).fits for _ in range(2)] == [True, False]


def test_a_slot_whose_day_counts_is_free_once_the_day_is_over_and_begins_anew() -> None:
    counters = crowded(per_day=2)
    evening, midnight = NOON + 43_199, NOON + 43_200
    for n in range(CROWD):
        counters.hit(f"owner {n}", NOON)

    with pytest.raises(CountersFullError):
        counters.hit("newcomer", evening)
    own = [counters.hit(f"newcomer {n}", midnight) for n in range(CROWD)]

    assert {(hit.left, hit.reset, hit.today) for hit in own} == {(SIZE - 1, 60.0, 1)}


def test_a_table_half_full_of_kept_counts_has_a_slot_for_everyone(share: Share) -> None:
    slots = Counters(RateWindow("w", 2_000, 60, 5)).slots
    assert slots == SLOTS
    one, other = (share(2_000, 5) for _ in range(2))
    buckets = [f"key {n}" for n in range(slots // 2)]
    for bucket in buckets:
        one.hit(bucket, NOON)

    assert {other.hit(bucket, NOON + 61).today for bucket in buckets} == {2}


def test_the_window_does_not_follow_a_clock_that_is_set() -> None:
    counters = Table(1)
    counters.hit("a", 100, NOON)

    assert not counters.hit("a", 101, NOON + 3_600).fits
    assert counters.hit("a", 160, NOON - 3_600).fits


def test_each_process_finds_a_slot_again_until_another_gave_it_away(share: Share) -> None:
    one, other = crowded(share=share), share(SIZE, slots=CROWD)

    assert {other.hit(f"owner {n}", NOON + 61).today for n in range(CROWD)} == {2}
    assert {other.hit(f"newcomer {n}", NOON + 122).today for n in range(CROWD)} == {1}
    assert {one.hit(f"owner {n}", NOON + 183).today for n in range(CROWD)} == {1}


def test_a_process_that_dies_while_it_counts_leaves_too_many_counted_never_too_few(
    share: Share, tmp_path: Path
) -> None:
    counters = share(5)
    for second in (0, 1, 2, 2):
        counters.hit("a", NOON + second)

    def words() -> list[bytes]:
        whole = (tmp_path / "w").read_bytes()
        return [whole[n : n + WORD] for n in range(0, len(whole), WORD)]

    before = words()
    counters.hit("a", NOON + 61)  # two have left the window
    after = words()
    *head, time, number = [n for n, word in enumerate(after) if word != before[n]]
    order = [number, time, *head]
    for done in range(len(order) + 1):
        with (tmp_path / "w").open("r+b") as file:
            written = order[:done]
            file.seek(head[0] * WORD)
            for n in range(head[0], number + 1):  # all that later hits may have changed
                file.write(after[n] if n in written else before[n])
        again = share(5)
        assert sum(again.hit("a", NOON + 61).fits for _ in range(5)) <= 3, done


async def test_where_no_room_is_left_nothing_is_resumed_or_taken_back_and_it_is_told_for_a_minute(
    tmp_path: Path,
) -> None:
    at = [NOON - BOOT, NOON]
    counting = LocalCounting(monotonic=lambda: at[0], utc=lambda: at[1], slots=CROWD)
    window = counting.open(RateWindow("w", SIZE, 60, 2))
    for n in range(CROWD):
        await counting.hit((window, f"owner {n}"))
    assert not fault_of(counting)

    await counting.resume([(window, "newcomer", 1)])
    await counting.take_back((window, "newcomer"))
    assert not fault_of(counting)
    with pytest.raises(CountersFullError):
        await counting.hit((window, "newcomer"))

    assert fault_of(counting) == FULL
    at[0] += FULL_SECONDS
    assert not fault_of(counting)


async def test_files_of_counts_that_are_gone_are_told(tmp_path: Path) -> None:
    counting = LocalCounting(tmp_path)
    counting.open(RateWindow("w", SIZE, 60))
    assert not fault_of(counting)

    (tmp_path / "w").unlink()
    assert fault_of(counting) == GONE
    await counting.close()


def test_a_process_that_starts_later_finds_every_bucket_even_of_a_full_slot(share: Share) -> None:
    one = share(SIZE, slots=1)
    for _ in range(SIZE):
        one.hit("a", NOON)

    assert not share(SIZE, slots=1).hit("a", NOON).fits


def test_a_bucket_that_took_a_slot_of_another_is_found_there_by_all(share: Share) -> None:
    one, other = share(SIZE, slots=64), share(SIZE, slots=64)
    for n in range(400):
        one.hit(f"owner {n}", NOON)

    for n in range(20):
        one.hit(f"newcomer {n}", NOON + 1)
        assert other.hit(f"newcomer {n}", NOON + 1).left == SIZE - 2


@pytest.mark.parametrize("per_day", [None, 10**9])
def test_memory_does_not_grow_with_what_a_window_allows(per_day: int | None) -> None:
    tables = [Counters(RateWindow("w", size, 60, per_day)) for size in (61, 10_000, 1_000_000)]

    assert len({(table.slots, len(table.memory)) for table in tables}) == 1
    assert len(tables[0].memory) <= (STRANGERS_BYTES if per_day is None else SLOTS * 1100) + 10**6


def test_a_file_that_cannot_be_shared_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(CountersError, match="run one worker"):
        Counters(RateWindow("w", 5, 60), tmp_path / "file" / "keys")


async def test_files_of_counts_are_their_owner_s_alone_in_folders_that_are_made(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "made" / "for it"
    counting = LocalCounting(folder)
    counting.open(RateWindow("w", 5, 60))

    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}
    assert modes == {"lock": 0o600, "w": 0o600}
    await counting.close()

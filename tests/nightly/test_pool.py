"""The pool: results in the order of the tasks, regardless of which process is first."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from nightly.errors import WorkerError
from nightly.pool import AHEAD, Pool, batches, local_pool


def double(number: int) -> int:
    return 2 * number


def die(_number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_the_order_of_the_tasks(jobs: int) -> None:
    with local_pool(jobs) as pool:
        assert list(pool.run(double, range(20))) == [2 * number for number in range(20)]


def test_only_the_tasks_next_in_line_are_under_way() -> None:
    begun = []

    def begin(number: int) -> int:
        begun.append(number)
        return number

    with ThreadPoolExecutor(1) as executor:
        results = Pool(executor, 2).run(begin, range(1000))
        first = [next(results) for _ in range(3)]

    assert first == [0, 1, 2]
    assert len(begun) == 2 * AHEAD + 2


def test_a_killed_worker_ends_the_run_in_one_sentence() -> None:
    with local_pool(2) as pool, pytest.raises(WorkerError, match="fewer --jobs"):
        list(pool.run(die, [1, 2]))


@pytest.mark.parametrize("count", [0, 1, 17, 1856, 10_000])
def test_batches_hold_every_item_once_in_order(count: int) -> None:
    pieces = batches(range(count), 2)

    assert [item for piece in pieces for item in piece] == list(range(count))
    assert all(len(piece) <= 128 for piece in pieces)

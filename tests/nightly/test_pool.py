"""The pool: results in the order of the tasks, whatever the processes do."""

from __future__ import annotations

import os
import signal

import pytest

from nightly.errors import NightlyError
from nightly.pool import batches, run


def double(number: int) -> int:
    return 2 * number


def die(_number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_the_order_of_the_tasks(jobs: int) -> None:
    assert list(run(double, range(20), jobs)) == [2 * number for number in range(20)]


def test_a_killed_worker_ends_the_run_in_one_sentence() -> None:
    with pytest.raises(NightlyError, match="fewer --jobs"):
        list(run(die, [1, 2], 2))


@pytest.mark.parametrize("count", [0, 1, 17, 1856, 10_000])
def test_batches_hold_every_item_once_in_order(count: int) -> None:
    pieces = batches(range(count), 2)

    assert [item for piece in pieces for item in piece] == list(range(count))
    assert all(len(piece) <= 128 for piece in pieces)

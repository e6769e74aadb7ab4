"""The pool: results in the order of the tasks, regardless of which process is first."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from multiprocessing import active_children, parent_process

import psutil
import pytest

from screener.nightly.errors import WorkerError
from screener.nightly.pool import AHEAD, Pool, batches, local_pool
from tests.screener.nightly.tasks import where


def double(number: int) -> int:
    return 2 * number


def die(number: int) -> int:
    if parent_process() is not None:
        os.kill(os.getpid(), signal.SIGKILL)
    return where(number)


@pytest.mark.parametrize("jobs", [1, 2])
def test_results_come_in_the_order_of_the_tasks(jobs: int) -> None:
    with local_pool(jobs) as pool:
        assert list(pool.run(double, range(20))) == [2 * number for number in range(20)]


def test_this_process_works_while_the_others_start_and_with_them() -> None:
    with local_pool(3) as pool:
        places = pool.run(where, count())
        assert next(places) == os.getpid()
        several: set[int] = set()
        while len(several) < 3:
            several.add(next(places))

    assert not active_children()


def test_only_the_tasks_next_in_line_are_under_way() -> None:
    begun = []

    def begin(number: int) -> int:
        begun.append(number)
        return number

    with ThreadPoolExecutor(1) as executor:
        results = Pool(executor, 2).run(begin, range(1000))
        first = [next(results) for _ in range(3)]

    assert first == [0, 1, 2]
    assert len(begun) <= 2 * AHEAD + 3


def test_a_killed_worker_ends_the_run_in_one_sentence() -> None:
    with local_pool(2) as pool, pytest.raises(WorkerError, match="fewer --jobs"):
        deque(pool.run(die, count()), maxlen=0)


WORKING = """
from itertools import count
from screener.nightly.pool import local_pool
from tests.screener.nightly.tasks import where

with local_pool(2) as pool:
    for place in pool.run(where, count()):
        print(place, flush=True)
"""


@pytest.mark.process
def test_a_worker_ends_with_the_process_that_started_it() -> None:
    with subprocess.Popen([sys.executable, "-c", WORKING], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        places = map(int, parent.stdout)
        worker = psutil.Process(next(place for place in places if place != parent.pid))
        parent.kill()

    assert psutil.wait_procs([worker], timeout=60)[1] == []


@pytest.mark.parametrize("count", [0, 1, 17, 1856, 10_000])
def test_batches_hold_every_item_once_in_order(count: int) -> None:
    pieces = batches(range(count), 2)

    assert [item for piece in pieces for item in piece] == list(range(count))
    assert all(len(piece) <= 128 for piece in pieces)

"""The pool: results in the order of the tasks, regardless of which process is first."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import nightly
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


LONG_RUN = """
import time
import polars  # brings its own handler of Ctrl-C
from nightly.pool import local_pool
if __name__ == "__main__":
    with local_pool(2) as pool:
        results = pool.run(time.sleep, iter([0, 600, 600]))
        print("begun", next(results), flush=True)
        next(results)
"""


def test_ctrl_c_ends_a_run_whose_tasks_take_long(tmp_path: Path) -> None:
    script = tmp_path / "long_run.py"
    script.write_text(LONG_RUN)
    environment = {**os.environ, "PYTHONPATH": str(Path(nightly.__file__).parents[1])}
    run = subprocess.Popen(
        [sys.executable, str(script)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert run.stdout is not None
        assert run.stdout.readline() == "begun None\n"
        run.send_signal(signal.SIGINT)
        assert "KeyboardInterrupt" in run.communicate(timeout=120)[1]
    finally:
        run.kill()
        run.communicate()
    assert run.returncode == -signal.SIGINT


@pytest.mark.parametrize("count", [0, 1, 17, 1856, 10_000])
def test_batches_hold_every_item_once_in_order(count: int) -> None:
    pieces = batches(range(count), 2)

    assert [item for piece in pieces for item in piece] == list(range(count))
    assert all(len(piece) <= 128 for piece in pieces)

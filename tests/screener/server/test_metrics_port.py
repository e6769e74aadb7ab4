"""The metrics port: several workers are told of as one service."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from screener.server.metrics_port import WORKER, WorkerMetrics

FILES = 200
HOLDING = (
    f"import os; held = [open(os.devnull) for _ in range({FILES})]; print(flush=True); input()"
)


@contextmanager
def worker(folder: Path) -> Iterator[int]:
    """A process that is a worker of the folder and holds many files."""
    command = [sys.executable, "-c", HOLDING]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        (folder / f"{process.pid}{WORKER}").touch()
        yield process.pid
        process.kill()


def held(workers: WorkerMetrics) -> dict[str, float]:
    """What processes hold together, by the name of the metric."""
    return {sample.name: sample.value for family in workers.collect() for sample in family.samples}


def test_what_all_workers_hold_is_added_up(tmp_path: Path) -> None:
    workers = WorkerMetrics(tmp_path)
    alone = held(workers)
    with worker(tmp_path):
        together = held(workers)
        with worker(tmp_path):
            of_three = held(workers)

    files, memory = "process_open_fds", "process_resident_memory_bytes"
    assert together[files] >= alone[files] + FILES
    assert of_three[files] >= together[files] + FILES
    assert of_three[memory] > together[memory] > alone[memory] > 0


def test_a_worker_whose_number_is_another_users_by_now_is_dead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_process: int, _signal: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    (tmp_path / f"1{WORKER}").touch()

    assert held(WorkerMetrics(tmp_path))["process_open_fds"] > 0
    assert list(tmp_path.glob(f"*{WORKER}")) == []

"""A cluster of Dask processes on this machine."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.screener.process import until

needs_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="Dask is not installed"
)


@contextmanager
def cluster(folder: Path, workers: int) -> Iterator[tuple[str, list[psutil.Popen]]]:
    """A scheduler and some worker processes of a real cluster on this machine, each worker with a
    folder of its own.
    """
    from distributed.utils import open_port

    port = open_port()
    environment = {**os.environ, "DASK_DISTRIBUTED__WORKER__MEMORY__TERMINATE": "False"}
    dask = [sys.executable, "-m", "dask"]
    scheduler = ["scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"]
    worker = ["worker", f"tcp://127.0.0.1:{port}", "--nthreads", "1", "--no-dashboard"]
    local = [["--local-directory", str(folder / f"worker-{n}")] for n in range(workers)]
    commands = [scheduler, *([*worker, *own] for own in local)]
    with (folder / "cluster.log").open("w") as log:
        processes = [
            psutil.Popen([*dask, *words], env=environment, stdout=log, stderr=log, cwd=folder)
            for words in commands
        ]
        try:
            wait_for_workers(f"tcp://127.0.0.1:{port}", workers)
            yield f"dask://127.0.0.1:{port}", processes[1:]
        finally:
            # A worker that takes the place of one that died would wait for the scheduler first.
            for process in processes:
                family = [process, *process.children(recursive=True)]
                for each in family:
                    with suppress(psutil.NoSuchProcess):
                        each.kill()
            for process in processes:
                process.wait(timeout=60)


def wait_for_tasks(address: str, count: int = 1) -> None:
    """Wait until the scheduler at `dask://…` has some tasks of a night."""
    distributed: Any = importlib.import_module("distributed")
    place = address.replace("dask://", "tcp://")
    with distributed.Client(place, timeout=60, set_as_default=False) as client:
        until(lambda: client.run_on_scheduler(_tasks_of) >= count)


def _tasks_of(dask_scheduler: Any) -> int:
    return len(dask_scheduler.tasks)


def wait_for_workers(address: str, count: int) -> None:
    distributed: Any = importlib.import_module("distributed")
    with distributed.Client(address, timeout=60, set_as_default=False) as client:
        client.wait_for_workers(count, timeout=120)


def dask_workers(nanny: psutil.Popen) -> list[psutil.Process]:
    """The worker processes that a nanny watches; none while it replaces one."""
    children = nanny.children(recursive=True)
    return [child for child in children if "resource_tracker" not in " ".join(child.cmdline())]

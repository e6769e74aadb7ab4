"""Measures a command from outside: its wall time, its processor time and its memory."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

EVERY = 0.05
"""Seconds between two samples of the memory."""


@dataclass(frozen=True, slots=True)
class Watched:
    """The cost and output of a command. Memory is the largest sum of the resident sets of all its
    processes, so shared pages count once per process. Processor time is that of all processes.
    """

    seconds: float
    cpu_seconds: float
    memory: int
    output: str
    code: int


def watch(command: list[str], data_dir: Path) -> Watched:
    """Run a command to its end, with its own data folder."""
    environment = {**os.environ, "SCREENER_DATA_DIR": str(data_dir), "COLUMNS": "160"}
    start, memory = time.perf_counter(), 0
    cpu: dict[int, float] = {}
    process = psutil.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    while process.poll() is None:
        memory = max(memory, _look(process, cpu))
        time.sleep(EVERY)
    output = process.stdout.read()
    return Watched(
        time.perf_counter() - start, sum(cpu.values()), memory, output, process.returncode
    )


def _look(process: psutil.Process, cpu: dict[int, float]) -> int:
    """The current memory of a process and its children; stores their processor time in `cpu`."""
    memory = 0
    try:
        for one in (process, *process.children(recursive=True)):
            memory += one.memory_info().rss
            times = one.cpu_times()
            cpu[one.pid] = times.user + times.system
    except psutil.Error:
        pass  # one has ended meanwhile
    return memory

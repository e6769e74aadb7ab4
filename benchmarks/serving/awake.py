"""Awake: keeps every processor from sleeping while a benchmark runs.

If a server is slower than the load generator, the generator's processor is asleep at each answer.
Waking a sleeping processor, above all a virtual one, costs the sender 10 us or more; a faster
server never pays that. A busy loop of the lowest scheduling class on each processor prevents this
and gives way to any other work.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

LOOP = """
import os, sys
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
while os.getppid() == int(sys.argv[2]):
    for _ in range(1_000_000):
        pass
"""


@contextmanager
def awake() -> Iterator[None]:
    """Keep the processors awake until the block ends.

    Raises:
        RuntimeError: this is not Linux; no other system has such a scheduling class.
    """
    if not hasattr(os, "SCHED_IDLE"):
        raise RuntimeError("Processors can be kept awake on Linux only.")
    command = [sys.executable, "-c", LOOP]
    loops = [
        subprocess.Popen([*command, str(processor), str(os.getpid())])  # noqa: S603 - our own loop
        for processor in sorted(os.sched_getaffinity(0))
    ]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()

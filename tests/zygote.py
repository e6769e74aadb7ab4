"""Processes of the `screener` command that start in an instant.

Each is forked from a process that has the program loaded already (the forkserver of
`multiprocessing`), so it is a process of its own in all but the two seconds of imports. Where the
start itself is the subject, run `tests.screener.command.COMMAND` instead.
"""

from __future__ import annotations

import faulthandler
import io
import multiprocessing
import os
import sys
from collections.abc import Mapping
from multiprocessing.context import ForkServerProcess
from pathlib import Path

LOADED = ["screener.commands.cli", "screener.service.app", "screener.server.serving"]
"""What the commands load, but for numba and polars, whose threads do not outlive a fork."""

_processes = multiprocessing.get_context("forkserver")
_processes.set_forkserver_preload(LOADED)


def start(
    *arguments: str,
    environment: Mapping[str, str],
    stdout: Path,
    stderr: Path,
) -> ForkServerProcess:
    """Start `screener` with these arguments; what it writes goes into two files."""
    process = _processes.Process(
        target=_become, args=(arguments, dict(environment), stdout, stderr)
    )
    process.start()
    return process


def _become(
    arguments: tuple[str, ...],
    environment: Mapping[str, str],
    stdout: Path,
    stderr: Path,
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    for number, path, flags in (
        (0, Path(os.devnull), os.O_RDONLY),
        (1, stdout, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
        (2, stderr, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    ):
        file = os.open(path, flags, 0o600)
        os.dup2(file, number)
        os.close(file)
    sys.stdin = os.fdopen(0, closefd=False)
    for stream in (sys.stdout, sys.stderr):
        assert isinstance(stream, io.TextIOWrapper)
        stream.reconfigure(line_buffering=True, encoding=environment.get("PYTHONIOENCODING"))
    faulthandler.enable()  # a process that does not end is aborted, and says where it was
    sys.argv = ["screener", *arguments]
    from screener.commands.cli import main

    main()

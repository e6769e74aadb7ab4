"""A nightly as a process of its own beside the service that shows it at work."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import SpawnProcess
from pathlib import Path
from threading import Event, Thread

from screener.commands.bars_options import BarsOptions
from screener.commands.nights.night import nightly
from screener.nightly.pool import follow_parent
from screener.server.process import ignored_by_children, never_lost
from screener.settings.console import DRIFT, EXITS, INTERRUPTED, err, plainly
from screener.settings.errors import EndedError
from screener.settings.settings import Settings
from store.errors import SealedError
from store.folder.progress import ProgressFile

STOP_SECONDS = 5.0
"""For which a nightly that is told to end may tidy up; whatever it leaves, the next one removes."""


@contextmanager
def nightly_process(settings: Settings, options: BarsOptions | None) -> Iterator[None]:
    """Run `screener nightly` as long as the block, if there are bars to make a night of."""
    if options is None:
        yield
        return
    record, page = ProgressFile(settings.data_dir), f"{settings.url}/screen"
    record.announce(Path(options.bars).resolve().name)
    # Spawned as the nightly's own workers are, and so without what the service has open.
    child = multiprocessing.get_context("spawn").Process(target=_run, args=(options,))
    with ignored_by_children():
        child.start()
    stopping = Event()
    waiter = Thread(target=_wait, args=(child, record, stopping, page), daemon=True)
    waiter.start()
    try:
        yield
    finally:
        stopping.set()
        _stop(child, waiter)


def _run(options: BarsOptions) -> None:
    """The child: ends when it is told to or when its parent is gone, but not by Ctrl-C, which is
    the parent's to hear.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    never_lost(signal.SIGTERM)
    follow_parent()
    try:
        with plainly():
            nightly(options)
    except EndedError as end:
        sys.exit(end.code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _wait(child: SpawnProcess, record: ProgressFile, stopping: Event, page: str) -> None:
    """Wait for the child, and say how it ended unless it was told to."""
    child.join()
    record.retract()
    code = child.exitcode or 0
    if stopping.is_set():
        return
    if code in (0, DRIFT, EXITS[SealedError]):
        err.print(f"The patterns: {page}")
    elif code < 0:
        err.print(f"The nightly was killed (signal {-code}) and published nothing.")
    if code:
        err.print("The service goes on; Ctrl-C ends it.")


def _stop(child: SpawnProcess, waiter: Thread) -> None:
    """End the child. The thread alone waits for it, since only one waiter learns how it ended."""
    if not waiter.is_alive():
        return
    with contextlib.suppress(OSError):
        child.terminate()
    waiter.join(STOP_SECONDS)
    if waiter.is_alive():
        child.kill()
        waiter.join(STOP_SECONDS)

"""Beside: a nightly as a process of its own beside the service that shows it at work."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.context import SpawnProcess
from pathlib import Path
from threading import Thread

import typer

from nightly.bars import Adjustment
from nightly.pool import follow_parent
from screener.console import DRIFT, EXITS, err
from screener.night import nightly
from screener.settings import Settings
from store.errors import SealedError
from store.progress import ProgressFile

STOP_SECONDS = 10.0
"""For which a nightly that is told to end may tidy up; whatever it leaves, the next one removes."""

INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a night is to be made of."""

    bars: Path
    reference: Path | None = None
    symbol: str | None = None
    adjustment: Adjustment = "split"


@contextmanager
def nightly_beside(settings: Settings, wanted: Wanted | None) -> Iterator[None]:
    """Run `screener nightly`, if a night is wanted, from the beginning of the block to its end."""
    if wanted is None:
        yield
        return
    ProgressFile(settings.data_dir).clear()
    # Spawned as the nightly's own workers are, and so without what the service has open.
    child = multiprocessing.get_context("spawn").Process(target=_run, args=(wanted,))
    child.start()
    waiter = Thread(target=_tell_end, args=(child, f"{settings.url}/screen"), daemon=True)
    waiter.start()
    try:
        yield
    finally:
        _stop(child, waiter)


def _run(wanted: Wanted) -> None:
    """The child: ends when it is told to or when its parent is gone, but not by Ctrl-C, which is
    the parent's to hear.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    follow_parent()
    try:
        nightly(
            bars=str(wanted.bars),
            symbol=wanted.symbol,
            reference=wanted.reference,
            adjustment=wanted.adjustment,
        )
    except typer.Exit as end:
        sys.exit(end.exit_code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _tell_end(child: SpawnProcess, page: str) -> None:
    child.join()
    code = child.exitcode or 0
    if code in (0, DRIFT, EXITS[SealedError]):
        err.print(f"The patterns: {page}")
    elif code < 0:
        err.print(f"The nightly was killed (signal {-code}) and published nothing.")
    if code not in (0, INTERRUPTED):
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

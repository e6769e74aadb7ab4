"""The process: signals that end it, and what it imports.

A signal is neither lost nor told of as a fault. Python raises `KeyboardInterrupt` wherever the
program is; in a callback of a weak reference, as every import has one, it cannot be raised: Python
prints a traceback and goes on.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer, current_thread, main_thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

AGAIN_SECONDS = 0.02
"""After which a signal that could not be raised is sent again."""


def never_lost(number: signal.Signals) -> None:
    """Send a signal again if the interrupt that it raised was dropped."""

    def send_again(dropped: UnraisableHookArgs) -> None:
        if dropped.exc_type is not KeyboardInterrupt:
            sys.__unraisablehook__(dropped)
            return
        timer = Timer(AGAIN_SECONDS, os.kill, (os.getpid(), number))
        timer.daemon = True
        timer.start()

    sys.unraisablehook = send_again


@contextmanager
def loading() -> Iterator[None]:
    """Load within the block what lives as long as the process: it is never looked through for
    garbage, which takes a sixth of the time of the imports.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def ignored_by_children() -> Iterator[None]:
    """Processes that are started within the block never hear Ctrl-C, which a terminal sends to all:
    not even before their first line runs.
    """
    if current_thread() is not main_thread():  # others may not set handlers
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)

"""A signal that ends a process is heard wherever the process is."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import os, signal, threading, weakref
from screener.server.process import never_lost

signal.signal(signal.SIGTERM, signal.default_int_handler)
never_lost(signal.SIGTERM)

class Kept: pass

kept = Kept()
# As in an import, an interrupt that comes here cannot be raised.
watched = weakref.ref(kept, lambda _: os.kill(os.getpid(), signal.SIGTERM))
try:
    del kept
    threading.Event().wait(30)
    print("lost")
except KeyboardInterrupt:
    print("heard")
"""


def test_an_interrupt_within_a_callback_is_heard_and_prints_no_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True
    )

    assert (done.stdout, done.stderr) == ("heard\n", "")

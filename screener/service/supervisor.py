"""Supervisor: keeps the background loops of a serving process running, or ends the process.

A loop that fails is logged with its traceback and started again after a delay that doubles. One
that fails again and again ends the process with a non-zero code, which its own supervisor (the
parent of several workers, or systemd) sees: a process that went on answering without its loops
would serve an old night and lose what it counted.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

import anyio

from screener.telemetry.metrics import loop_restarts

FIRST_DELAY = 0.5
"""Seconds before a loop that failed once is started again."""

MAX_DELAY = 30.0

MAX_FAILURES = 5
"""Failures in a row that end the process."""

WELL_SECONDS = 60.0
"""A loop that ran for so long has recovered: its failures are counted anew."""

EXIT_CODE = 70
"""EX_SOFTWARE of BSD's sysexits.h: an internal fault."""

log = logging.getLogger(__name__)


class Loop(NamedTuple):
    """Work in the background that ends by an error alone."""

    name: str
    """One word, for `/metrics`."""
    what: str
    """What it does, for people: "that writes the usage log"."""
    run: Callable[[], Awaitable[None]]


class Supervisor:
    """Runs loops, and knows which of them have failed lately."""

    def __init__(
        self, first_delay: float = FIRST_DELAY, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._first_delay = first_delay
        self._clock = clock
        self._started: dict[str, float] = {}  # when each loop that has failed runs again

    @property
    def failed_lately(self) -> list[str]:
        """What the loops do that have failed and have not run well since."""
        now = self._clock()
        return [what for what, at in self._started.items() if now - at <= WELL_SECONDS]

    async def keep_running(self, loop: Loop) -> None:
        """Run a loop until cancelled.

        Raises:
            SystemExit: it failed `MAX_FAILURES` times in a row.
        """
        restarts = loop_restarts.labels(loop.name)  # a first one is then an increase
        failures = 0
        while True:
            began = self._clock()
            try:
                await loop.run()
                raise RuntimeError("The loop ended by itself.")  # noqa: TRY301 - a fault like any other
            except Exception:
                now = self._clock()
                failures = 1 if now - began > WELL_SECONDS else failures + 1
                if failures >= MAX_FAILURES:
                    log.critical(
                        "The loop %s cannot run; the process ends.", loop.what, exc_info=True
                    )
                    raise SystemExit(EXIT_CODE) from None
                delay = min(self._first_delay * 2 ** (failures - 1), MAX_DELAY)
                self._started[loop.what] = now + delay
                log.exception("The loop %s failed and is started again in %g s.", loop.what, delay)
            restarts.inc()
            await anyio.sleep(delay)

"""Shared charts: those that the nightly drew and put into the shared store of nights.

Whoever asks waits for a short time, and draws the chart if the store does not give it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from threading import BoundedSemaphore
from typing import Final

import anyio

from store.daemon import in_daemon
from store.errors import ObjectsError
from store.objects import Objects
from store.published import chart_object

WAIT_SECONDS: Final = 2.0
"""For which a chart waits for the store; drawing it takes less."""

AT_ONCE: Final = 8
"""Charts that are asked for at the same time, at most."""

PAUSE_SECONDS: Final = 30.0
"""For which the store is left alone after it did not answer."""

MOST_BYTES: Final = 4 * 2**20

log = logging.getLogger(__name__)


class SharedCharts:
    """The charts in a shared store of nights."""

    def __init__(
        self,
        objects: Objects,
        *,
        wait: float = WAIT_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._objects = objects
        self._wait = wait
        self._clock = clock
        self._places = BoundedSemaphore(AT_ONCE)
        self._again = 0.0  # when the store may be asked again

    async def read(self, version: str, file: str) -> bytes | None:
        """The bytes of a chart of a night; None if the store does not give it in time."""
        if self._clock() < self._again or not self._places.acquire(blocking=False):
            return None
        try:
            with anyio.fail_after(self._wait):
                return await in_daemon(partial(self._read, chart_object(version, file)))
        except (ObjectsError, TimeoutError) as error:
            self._again = self._clock() + PAUSE_SECONDS
            log.warning(
                "Charts are drawn here for %g s, since the store of nights does not give them: %s",
                PAUSE_SECONDS,
                str(error) or "it takes too long",
            )
            return None

    def _read(self, name: str) -> bytes | None:
        try:
            found = self._objects.read(name, MOST_BYTES)
        finally:
            self._places.release()  # here, since nobody may be waiting any more
        return None if found is None else found.body

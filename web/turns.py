"""Turns: how many drawings of pages go on at once, so that nobody's page waits behind another's.

A page asks for fifty pictures in one moment, and the queue of drawings is short. Requests
therefore wait here for their turn, each visitor's in a row of their own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from weakref import WeakValueDictionary

import anyio
from anyio import CapacityLimiter

from mcp_server.operations.charts import QUEUE_LIMIT
from web.refusals import Refusal

TOGETHER = QUEUE_LIMIT // 2
"""Drawings of all pages at once: half of the queue, whose rest is for programs."""

EACH = 4
"""Of one visitor at once."""

WAITING = 400
"""Most requests that have a turn or wait for one; a page shows 200 pictures at most."""

LONGEST = 60
"""Seconds after which a wait is given up."""


class Turns:
    """Lets a few requests through at once, and the others wait."""

    def __init__(self) -> None:
        self._together = CapacityLimiter(TOGETHER)
        self._rows: WeakValueDictionary[str, CapacityLimiter] = WeakValueDictionary()
        self._number = 0

    @asynccontextmanager
    async def turn(self, visitor: str) -> AsyncIterator[None]:
        """Wait for a turn, and have it until the block ends.

        Raises:
            Refusal: too many wait already, or this took too long.
        """
        if self._number >= WAITING:
            raise busy()
        row = self._rows.setdefault(visitor, CapacityLimiter(EACH))
        self._number += 1
        try:
            async with AsyncExitStack() as held:
                try:
                    with anyio.fail_after(LONGEST):
                        await held.enter_async_context(row)
                        await held.enter_async_context(self._together)
                except TimeoutError as error:
                    raise busy() from error
                yield
        finally:
            self._number -= 1


def busy() -> Refusal:
    """The refusal of a drawing for which there is no room."""
    return Refusal(503, "Too many charts are being drawn. Try again in a moment.", retry_after=2)

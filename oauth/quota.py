"""Quota: how often a network address may introduce apps, by registering them or by naming them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path

from mcp_server.operations.counters import Counters

MINUTE = 60


class Quota:
    """Counts introductions in a moving minute; several processes share a file."""

    def __init__(
        self,
        per_minute: int,
        clock: Callable[[], float] = time.time,
        file: Path | None = None,
    ) -> None:
        self._counters = Counters(per_minute, MINUTE, file=file)
        self._clock = clock

    def admit(self, address: str) -> int | None:
        """Count one more app of an address: None, or the seconds to wait if it is one too many."""
        hit = self._counters.hit(address, self._clock())
        return None if hit.counted else max(1, math.ceil(hit.reset))

"""Quota: how many apps a network may introduce, by registration or by client document."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from mcp_server.operations.counters import Counters, Moment, moment
from telemetry.metrics import limits_hit

MINUTE = 60


class Quota:
    """Counts introductions in a moving minute; with a file, several processes share the counts."""

    def __init__(
        self,
        per_minute: int,
        clock: Callable[[], Moment] = moment,
        file: Path | None = None,
    ) -> None:
        self._counters = Counters(per_minute, MINUTE, file=file)
        self._clock = clock

    def seconds_to_wait(self, network: str) -> int | None:
        """Count an app of a network; returns None, or the seconds to wait if it is refused."""
        hit = self._counters.hit(network, self._clock())
        if hit.counted:
            return None
        limits_hit.labels("apps").inc()
        return max(1, math.ceil(hit.reset))

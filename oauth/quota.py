"""Quota: how many apps a network may introduce, by registration or by client document."""

from __future__ import annotations

from mcp_server.limits.counting import Counting, Window, counted
from mcp_server.limits.local_counting import LocalCounting
from telemetry.metrics import limits_hit

MINUTE = 60


class Quota:
    """Counts introductions in a moving minute; in the memory of this process by default."""

    def __init__(self, per_minute: int, counting: Counting | None = None) -> None:
        self._counting = LocalCounting() if counting is None else counting
        self._apps = self._counting.open(Window("apps", per_minute, MINUTE))

    async def seconds_to_wait(self, network: str) -> int | None:
        """Count an app of a network; returns None, or the seconds to wait if it is refused.

        Raises:
            UncountedError: it cannot be counted now.
        """
        hits = await counted(self._counting, (self._apps, network))
        if hits.counted:
            return None
        limits_hit.labels("apps").inc()
        return hits.wait

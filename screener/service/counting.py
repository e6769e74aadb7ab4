"""Counting as the settings choose it: in the memory of this machine, or in Redis for several."""

from __future__ import annotations

import logging
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from mcp_server.operations.local_counting import LocalCounting
from screener.service.supervisor import Loop
from screener.settings.errors import SettingsError
from screener.settings.extras import how_to_install
from store.errors import DatabaseUnavailableError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp_server.operations.limits import Limiter
    from mcp_server.operations.redis_counting import RedisCounting
    from screener.settings.settings import Settings
    from store.accounts.usage import UsageLog

log = logging.getLogger(__name__)

LOOK_SECONDS = 0.5
"""Between two looks at Redis: so long it may count again before it is noticed."""


def counting_of(settings: Settings, folder: Path | None) -> LocalCounting | RedisCounting:
    """What counts; of several processes of this machine in the files of one folder.

    Raises:
        SettingsError: the driver of Redis is not installed.
        CountersError: the folder cannot hold exact counts.
    """
    if settings.limits_url is None:
        return LocalCounting(folder=folder)
    if find_spec("redis") is None:
        raise SettingsError(
            f"SCREENER_LIMITS_URL: redis is not installed; {how_to_install('redis')}."
        )
    from mcp_server.operations.redis_counting import RedisCounting

    local = settings.limits_away == "local"
    meanwhile = LocalCounting(folder=folder) if local else None
    return RedisCounting(settings.limits_url.get_secret_value(), meanwhile)


async def resume_days(limiter: Limiter, usage: UsageLog) -> None:
    """Count on where the day's calls stood when the service was stopped."""
    try:
        await limiter.resume(await usage.calls_today())
    except DatabaseUnavailableError as error:
        log.warning("Today's calls are counted from zero: %s", error)


class Standing:
    """Takes over where the calls of today stand: at the start, and for Redis whenever that must."""

    def __init__(
        self, counting: LocalCounting | RedisCounting, resume: Callable[[], Awaitable[None]]
    ) -> None:
        self._redis = None if isinstance(counting, LocalCounting) else counting
        self._resume = resume
        self._was_away = False

    @property
    def loops(self) -> tuple[Loop, ...]:
        """What runs as long as the service."""
        if self._redis is None:
            return ()
        return (Loop("limits", "that looks for the Redis of the limits", self._keep_looking),)

    async def start(self) -> None:
        """Look for Redis, so that the first call is counted there; without one, resume at once."""
        if self._redis is None:
            await self._resume()
        else:
            await self._look(self._redis)

    async def _keep_looking(self) -> None:
        while self._redis is not None:
            await anyio.sleep(LOOK_SECONDS)
            await self._look(self._redis)

    async def _look(self, redis: RedisCounting) -> None:
        must = await redis.look()
        was_away, self._was_away = self._was_away, redis.is_away
        # When it goes away, this machine counts on where all machines together stood.
        if must or (redis.is_away and not was_away):
            await self._resume()

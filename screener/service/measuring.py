"""Measuring: what no request tells, looked up every few seconds for `/metrics`."""

from __future__ import annotations

import datetime as dt
import math
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import anyio
import anyio.to_thread

from mcp_server.operations.age import Age
from mcp_server.operations.services import Services
from telemetry.metrics import (
    announce,
    data_free,
    data_size,
    night_sample,
    night_session,
    publish,
    sessions_behind,
    usage_behind,
    usage_rows_waiting,
)
from telemetry.version import VERSION

MEASURE_SECONDS = 2.0


async def keep_measuring(
    services: Services, data_dir: Path, clock: Callable[[], dt.datetime]
) -> None:
    """Measure every few seconds until cancelled; what was counted since is published then too."""
    announce(VERSION)
    try:
        while True:
            measure(services, clock().date())
            await anyio.to_thread.run_sync(measure_disk, data_dir)
            await anyio.sleep(MEASURE_SECONDS)
    finally:
        publish()


def measure(services: Services, today: dt.date) -> None:
    """Publish what is known of the night, as of a UTC day, and of what has been counted since."""
    age = Age.of(services.active_night.book, today)
    night_session.set(_seconds(age.session))
    night_sample.set(age.sample)
    sessions_behind.set(0 if age.sample else age.missed or 0)
    usage_rows_waiting.set(services.usage.waiting)
    usage_behind.set(services.usage.is_behind)
    publish()


def measure_disk(folder: Path) -> None:
    """Set the gauges of the disk of a folder; NaN while the folder is away."""
    size, free = math.nan, math.nan
    with suppress(OSError):
        size, _, free = shutil.disk_usage(folder)
    data_size.set(size)
    data_free.set(free)


def _seconds(day: dt.date | None) -> float:
    if day is None:
        return 0.0
    return dt.datetime.combine(day, dt.time(), dt.UTC).timestamp()

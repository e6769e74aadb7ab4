"""Daemon: work in a thread that does not keep the process from ending.

Whoever waits for a network may wait long. What such work leaves when the process ends is the same
that it leaves when the process is killed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


async def in_daemon(work: Callable[[], T]) -> T:
    """The result of work in a thread of its own. Who is cancelled meanwhile leaves it to end."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()
    Thread(target=_do, args=(work, future), daemon=True).start()
    return await asyncio.wrap_future(future)


def _do(work: Callable[[], T], future: Future[T]) -> None:
    try:
        result = work()
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)

"""Follower: looks at a shared store of nights, and keeps the data folder as its last commit says.

Whatever fails, the night of the data folder stays and is served. Nothing here changes the store.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import logging
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from random import SystemRandom
from threading import Thread
from typing import Final, Literal, NamedTuple, TypeVar

import anyio

from screener.telemetry.metrics import nights_failures, nights_reached
from store.errors import BusyError, ManifestError, StoreError
from store.folder.lock import locked
from store.folder.trouble import trouble_of
from store.remote.objects import Object, Objects
from store.remote.pointer import MAX_BYTES, POINTER, Published, read_published
from store.remote.pull import PulledNights

JITTER: Final = 0.1
"""By this share a wait is longer or shorter, so that servers do not all ask at once."""

MAX_WAIT: Final = 120.0
"""The most seconds between two looks after failures, unless all are further apart."""

PATIENCE: Final = 3
"""A store that was not reached for so many looks is said to be away."""

LATE: Final = dt.timedelta(minutes=5)
"""What the store names and is not here after this time is said to be late."""

log = logging.getLogger(__name__)

Clock = Callable[[], dt.datetime]

T = TypeVar("T")


class Trouble(NamedTuple):
    """What keeps the data folder from being as the store says."""

    kind: Literal["away", "fault", "late"]
    """The store has not answered; what it names cannot be had; it has not come yet."""
    since: dt.datetime
    """In UTC."""
    why: str = ""
    """Empty while nothing failed."""


class Follower:
    """Follows a shared store of nights for the servers of one data folder."""

    def __init__(
        self,
        data_dir: Path,
        objects: Objects,
        *,
        seconds: float,
        kept: int,
        clock: Clock,
    ) -> None:
        """Look every so many seconds, and keep so many nights on the disk."""
        self._data_dir = data_dir
        self._objects = objects
        self._nights = PulledNights(data_dir, objects)
        self._seconds = seconds
        self._kept = kept
        self._clock = clock
        self._known: tuple[Published, str] | None = None  # with its tag
        self.reached_at: dt.datetime | None = None
        """When the store answered last, in UTC; None if it has not yet."""
        self.trouble: Trouble | None = None
        """What the look that is under way waits for, or the last one met."""

    @property
    def place(self) -> str:
        """Where the store is, without any secret."""
        return self._objects.place

    @property
    def lasting(self) -> Trouble | None:
        """The trouble that an operator should know of: a fault at once, what only takes long when
        its time is over.
        """
        trouble = self.trouble  # read once: the thread that looks replaces it at any time
        if trouble is None or trouble.kind == "fault":
            return trouble
        patience = LATE
        if trouble.kind == "away":
            patience = dt.timedelta(seconds=PATIENCE * self._seconds)
        return trouble if self._clock() - trouble.since > patience else None

    async def keep_following(self) -> None:
        """Look at the store until cancelled; less often after failures."""
        wait = self._seconds
        most = max(self._seconds, min(4 * self._seconds, MAX_WAIT))
        while True:
            well = await in_daemon(self.look)
            wait = self._seconds if well else min(2 * wait, most)
            await anyio.sleep(wait * SystemRandom().uniform(1 - JITTER, 1 + JITTER))

    def look(self) -> bool:
        """Look once, and fetch what is new; waits for the network. Returns whether all is well."""
        try:
            pointer = self._ask()
        except Exception as error:
            self._fail("away", error)
            return False
        try:
            self._pull(pointer)
        except BusyError as error:
            self._wait(error)
        except Exception as error:
            self._fail("fault", error)
            return False
        else:
            self._recover("The data folder is level with the store of nights again.")
        return True

    def _ask(self) -> Object | None:
        """The pointer, without its bytes if it is the one that is known."""
        self._await("away")
        tag = self._known[1] if self._known else None
        pointer = self._objects.read(POINTER, MAX_BYTES, tag)
        self.reached_at = self._clock()
        nights_reached.set(self.reached_at.timestamp())
        if self.trouble and self.trouble.kind == "away":
            self._recover("The store of nights can be reached again.")
        return pointer

    def _pull(self, pointer: Object | None) -> None:
        """Fetch what the pointer names, unless it is here."""
        if pointer is None and self._known is not None:
            raise ManifestError(
                f"There is no {POINTER} at {self.place} any more; publish again from the "
                "machine that published last."
            )
        if pointer is not None and (self._known is None or pointer.tag != self._known[1]):
            self._known = read_published(pointer.body, self.place), pointer.tag
        if self._known is None or self._nights.is_level(self._known[0]):
            return
        self._await("late")
        with locked(self._data_dir, self._clock()):
            if not self._nights.is_level(self._known[0]):  # another process may have pulled it
                self._nights.remove_leftovers()
                self._nights.pull_commit(self._known[0], self._kept)

    def _await(self, kind: Literal["away", "late"]) -> None:
        """Note since when something is waited for, unless there is trouble already."""
        self.trouble = self.trouble or Trouble(kind, self._clock())

    def _wait(self, error: BusyError) -> None:
        """Look again later for what another process fetches; log once if that takes too long."""
        late = self.lasting
        if late and not late.why:
            self.trouble = late._replace(why="another process writes in the data folder")
            log.warning("The night that is here is served: %s", error)

    def _fail(self, kind: Literal["away", "fault"], error: Exception) -> None:
        """Count a failure and log it, once however often it recurs."""
        nights_failures.inc()
        why = trouble_of(error) or (error.__cause__ and trouble_of(error.__cause__)) or str(error)
        before = self.trouble
        if before is None or before.why != why:
            known = isinstance(error, StoreError | OSError)
            log.error(
                "The store of nights cannot be followed; the night that is here is served: %s",
                why,
                exc_info=None if known else error,
            )
        same = before is not None and before.kind == kind
        self.trouble = Trouble(kind, before.since if same and before else self._clock(), why)

    def _recover(self, words: str) -> None:
        """End the trouble, and say so if it was logged."""
        if self.trouble and self.trouble.why:
            log.warning(words)
        self.trouble = None


async def in_daemon(work: Callable[[], T]) -> T:
    """The result of work in a thread that does not keep the process from ending: a
    network may take long. If the caller is cancelled, the work ends by itself, and leaves what it
    would leave if the process were killed.
    """
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

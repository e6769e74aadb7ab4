"""Follower: looks at a shared store of nights, and keeps the data folder as its last commit says.

Whatever fails, the night of the data folder stays and is served. Nothing here changes the store.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Callable
from pathlib import Path
from random import SystemRandom
from typing import Final, NamedTuple

import anyio

from store.errors import BusyError, ManifestError, StoreError
from store.folder.trouble import trouble_of
from store.remote.daemon import in_daemon
from store.remote.mirror import Mirror
from store.remote.objects import Object, Objects
from store.remote.published import MOST_BYTES, POINTER, Published, read_published
from telemetry.metrics import nights_failures, nights_reached

JITTER: Final = 0.1
"""By this share a wait is longer or shorter, so that servers do not all ask at once."""

LONGEST_WAIT: Final = 120.0
"""The most seconds between two looks after failures, unless all are further apart."""

PATIENCE: Final = 3
"""A store that was not reached for so many looks is said to be away."""

LATE: Final = dt.timedelta(minutes=5)
"""What the store names and is not here after this time is said to be late."""

log = logging.getLogger(__name__)

Clock = Callable[[], dt.datetime]


class Late(NamedTuple):
    """What the store names and is not here yet: since when, in UTC, and why."""

    since: dt.datetime
    why: str


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
        self._objects = objects
        self._mirror = Mirror(data_dir, objects, kept)
        self._seconds = seconds
        self._clock = clock
        self._tag: str | None = None
        self._published: Published | None = None
        self._asked: dt.datetime | None = None  # since when an answer is waited for
        self._lacking: dt.datetime | None = None  # since when what the store names is not here
        self._held = ""  # which other process writes in the data folder
        self.began = clock()
        self.reached: dt.datetime | None = None
        """When the store answered last, in UTC; None if it has not yet."""
        self.away = ""
        """Why the last look did not reach the store; empty if it did."""
        self.fault = ""
        """Why what the store names is not kept here; empty if it is."""

    @property
    def place(self) -> str:
        """Where the store is, without any secret."""
        return self._objects.place

    @property
    def is_away(self) -> bool:
        """Whether the store has not been reached for several looks, or not once."""
        now, patience = self._clock(), dt.timedelta(seconds=PATIENCE * self._seconds)
        asked = self._asked  # read once: the thread that looks forgets it at any time
        if asked is not None and now - asked > patience:
            return True
        return bool(self.away) and (self.reached is None or now - self.reached > patience)

    @property
    def late(self) -> Late | None:
        """What has been waited for too long, though nothing failed."""
        lacking = self._lacking
        if lacking is None or self._clock() - lacking <= LATE:
            return None
        held = "another process writes in the data folder"
        return Late(lacking, held if self._held else "it is still being fetched")

    async def keep_following(self) -> None:
        """Look at the store until cancelled; less often after failures."""
        wait = self._seconds
        most = max(self._seconds, min(4 * self._seconds, LONGEST_WAIT))
        while True:
            well = await in_daemon(self.look)
            wait = self._seconds if well else min(2 * wait, most)
            await anyio.sleep(wait * SystemRandom().uniform(1 - JITTER, 1 + JITTER))

    def look(self) -> bool:
        """Look once, and fetch what is new; waits for the network. Returns whether all is well."""
        self._asked = self._clock()
        try:
            found = self._objects.read(POINTER, MOST_BYTES, self._tag)
        except Exception as error:
            self.away = _reported(error, self.away)
            return False
        finally:
            self._asked = None
        self.reached = self._clock()
        nights_reached.set(self.reached.timestamp())
        self.away = _ended(self.away, "The store of nights can be reached again.")
        try:
            self._keep(found)
        except Exception as error:
            self.fault = _reported(error, self.fault)
            return False
        self.fault = _ended(self.fault, "The data folder is level with the store of nights again.")
        return True

    def _keep(self, found: Object | None) -> None:
        """Keep what the store names; what another process is fetching is looked at again later."""
        if found is None and self._published is not None:
            raise ManifestError(
                f"There is no {POINTER} at {self._objects.place} any more; publish again from the "
                "machine that published last."
            )
        if found is not None and found.tag != self._tag:
            self._published = read_published(found.body, self._objects.place)
            self._tag = found.tag
        if self._published is None or self._mirror.holds(self._published):
            self._arrived()
            return
        self._lacking = self._lacking or self._clock()
        try:
            self._mirror.update(self._published)
        except BusyError as error:
            self._wait(str(error))
        else:
            self._arrived()

    def _arrived(self) -> None:
        """Forget since when what the store names was waited for."""
        self._lacking = None
        self._held = _ended(self._held, "The data folder is free again.")

    def _wait(self, words: str) -> None:
        """Log once which process holds the data folder, if that takes too long."""
        if self.late and not self._held:
            self._held = words
            log.warning("The night that is here is served: %s", words)


def _reported(error: Exception, before: str) -> str:
    """Count a failure and log it, once however often it recurs; returns its words."""
    nights_failures.inc()
    words = trouble_of(error) or (error.__cause__ and trouble_of(error.__cause__)) or str(error)
    if words != before:
        known = isinstance(error, StoreError | OSError)
        log.error(
            "The store of nights cannot be followed; the night that is here is served: %s",
            words,
            exc_info=None if known else error,
        )
    return words


def _ended(before: str, words: str) -> str:
    """Log that a failure is over, if there was one."""
    if before:
        log.warning(words)
    return ""

"""News: what open pages are told, which is the night that is served and how far the nightly is.

One loop of each process looks while somebody listens. It keeps no queue: whoever listens takes the
newest state of both, so that a slow reader misses what is no longer so, and costs no memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio
import orjson
from sse_starlette import ServerSentEvent

from store.folder.progress import Progress, ProgressFile
from store.nights.active_night import ActiveNight

LOOK_SECONDS = 0.5
"""Seconds between two looks."""

NIGHT, PROGRESS = "night", "progress"


@dataclass(frozen=True, slots=True, eq=False)
class Bulletin:
    """The news of one look."""

    events: Mapping[str, bytes] = field(default_factory=dict)
    """By its name: each event as it is sent."""
    replaced: anyio.Event = field(default_factory=anyio.Event)
    """Set as soon as there is a newer bulletin."""


class News:
    """The newest bulletin."""

    def __init__(self, active_night: ActiveNight, file: ProgressFile) -> None:
        self._active_night = active_night
        self._file = file
        self._listeners = 0
        self._wanted = anyio.Event()
        self.bulletin = Bulletin()

    def progress(self) -> Progress | None:
        """What the nightly is doing, or how the last one ended.

        The file is small and on the disk of the book: a thread would take seven times as long.
        """
        return self._file.read()

    async def keep_looking(self) -> None:
        """Look twice a second while somebody listens, until cancelled."""
        while True:
            await self._wanted.wait()
            self.look()
            await anyio.sleep(LOOK_SECONDS)

    def look(self) -> None:
        """Make a new bulletin if anything in it has changed."""
        progress = self.progress()
        events = {}
        with self._active_night.pin() as book:
            if book.session is not None:
                night = {"data_version": book.data_version, "as_of_session": book.session}
                events[NIGHT] = _event(NIGHT, orjson.dumps(night))
        if progress is not None:
            events[PROGRESS] = _event(PROGRESS, orjson.dumps(_told(progress)))
        if events != self.bulletin.events:
            old, self.bulletin = self.bulletin, Bulletin(events)
            old.replaced.set()

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Somebody listens within the block."""
        self._listeners += 1
        self._wanted.set()
        try:
            yield
        finally:
            self._listeners -= 1
            if not self._listeners:
                self._wanted = anyio.Event()


def _told(progress: Progress) -> dict[str, Any]:
    """What open pages show of a run, with the words of each reason."""
    told = progress.model_dump(mode="json", exclude={"written_at", "left"})
    told["left"] = [left.model_dump() | {"words": left.words} for left in progress.left]
    return told


def _event(name: str, data: bytes) -> bytes:
    return ServerSentEvent(data.decode(), event=name).encode()

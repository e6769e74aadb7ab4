"""Live: `/events`, what open pages are told, as server-sent events (WHATWG HTML, section 9.2).

`night` names the night that is served, to everybody. `progress` says how far the nightly is, to
those who may see the scan. Both come at once and again when they change. Each stream takes the
newest state of both and keeps no queue, so that a slow reader misses what is no longer so, and
costs no memory. Streams are few, and each ends after a while; a browser then opens the next one
by itself.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from typing import Any

import anyio
import orjson
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.types import Receive, Scope, Send

from mcp_server.calls.errors import PageRefusal
from mcp_server.http.application import share_of
from store.folder.progress import Progress, ProgressFile
from store.nights.active_night import ActiveNight

PATH = "/events"

MAX_STREAMS = 64
"""Streams of one process."""

MAX_OF_STRANGERS = MAX_STREAMS // 2
"""The most streams to people who may not see the scan."""

LASTS = 100.0
"""Seconds of a stream: less than a connection has for an answer, so that it ends as it should."""

LOOK_SECONDS = 0.5
"""Seconds between two looks at the state, which all streams share."""

RETRY_SECONDS = 2
"""After which a browser opens the next stream."""

BUSY_SECONDS = 30
"""After which one that found no place may try again."""

HEARTBEAT_SECONDS = 15

END_SECONDS = 2
"""For which a stream may end as it should when the service stops; then it is cut off."""

NIGHT, PROGRESS = "night", "progress"


class News:
    """The state that open pages follow, and the streams of this process."""

    def __init__(self, active_night: ActiveNight, file: ProgressFile) -> None:
        self._active_night = active_night
        self._file = file
        self._events: Mapping[str, bytes] = {}
        self._next_look = 0.0
        self.streams: set[Stream] = set()
        """Those that are being sent."""

    def progress(self) -> Progress | None:
        """What the nightly is doing, or how the last one ended.

        The file is small and on the disk of the book: a thread would take seven times as long.
        """
        return self._file.read()

    def open(self, network: str, *, sees_scan: bool) -> Stream:
        """A stream, if there is a place for it. It begins with the state of now.

        Raises:
            PageRefusal: there are too many streams, of this network or of all.
        """
        if sum(stream.network == network for stream in self.streams) >= share_of(MAX_STREAMS):
            raise PageRefusal(
                429, "Too many pages on your network are waiting for news.", BUSY_SECONDS
            )
        strangers = sum(not stream.sees_scan for stream in self.streams)
        is_full = len(self.streams) >= MAX_STREAMS
        if is_full or (not sees_scan and strangers >= MAX_OF_STRANGERS):
            raise PageRefusal(503, "Too many pages are waiting for news.", BUSY_SECONDS)
        self._look()
        return Stream(self, network, sees_scan=sees_scan)

    def events(self) -> Mapping[str, bytes]:
        """By its name: each event as it is sent, no older than LOOK_SECONDS."""
        if time.monotonic() >= self._next_look:
            self._look()
        return self._events

    def _look(self) -> None:
        self._next_look = time.monotonic() + LOOK_SECONDS
        events = {}
        with self._active_night.pin() as book:
            if book.session is not None:
                night = {"data_version": book.data_version, "as_of_session": book.session}
                events[NIGHT] = _event(NIGHT, night)
        if (progress := self.progress()) is not None:
            fields = progress.model_dump(mode="json", exclude={"written_at", "left"})
            fields["left"] = [left.model_dump() | {"words": left.words} for left in progress.left]
            events[PROGRESS] = _event(PROGRESS, fields)
        self._events = events


class Stream(EventSourceResponse):
    """A stream, which has its place for as long as it is sent."""

    def __init__(self, news: News, network: str, *, sees_scan: bool) -> None:
        self.network = network
        self.sees_scan = sees_scan
        self._news = news
        ending = anyio.Event()
        super().__init__(
            self._changes(ending),
            ping=HEARTBEAT_SECONDS,
            shutdown_event=ending,
            shutdown_grace_period=END_SECONDS,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it until it ends, the reader leaves or the service stops."""
        self._news.streams.add(self)
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._news.streams.discard(self)

    async def _changes(self, ending: anyio.Event) -> AsyncIterator[bytes]:
        """Each event at once and again whenever it changes; none once `ending` is set."""
        ends = time.monotonic() + LASTS
        sent: dict[str, bytes] = {}
        yield ServerSentEvent(retry=RETRY_SECONDS * 1000).encode()
        while time.monotonic() < ends and not ending.is_set():
            for name, event in self._news.events().items():
                is_open = name == NIGHT or self.sees_scan
                if is_open and sent.get(name) != event:
                    sent[name] = event
                    yield event
            with anyio.move_on_after(LOOK_SECONDS):
                await ending.wait()


def _event(name: str, fields: Mapping[str, Any]) -> bytes:
    return ServerSentEvent(orjson.dumps(fields).decode(), event=name).encode()

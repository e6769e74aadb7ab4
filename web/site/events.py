"""Events: `/events`, the news as a stream of server-sent events (WHATWG HTML, section 9.2).

`night` names the night that is served, to everybody. `progress` says how far the nightly is, to
those who may see the scan. Both come at once and again when they change. Streams are few, and each
ends after a while; a browser then opens the next one by itself.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Set
from contextlib import contextmanager

import anyio
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mcp_server.http.edge import share_of
from web.site.access import Access
from web.site.news import NIGHT, PROGRESS, News
from web.site.refusals import Refusal
from web.site.visit import Visit

PATH = "/events"

MOST = 64
"""Streams of one process."""

MOST_OF_STRANGERS = MOST // 2
"""Of those, streams to people who may not see the scan."""

LASTS = 100.0
"""Seconds of a stream: less than a connection has for an answer, so that it ends as it should."""

RETRY_SECONDS = 2
"""After which a browser opens the next stream."""

BUSY_SECONDS = 30
"""After which one that found no place may try again."""

HEARTBEAT_SECONDS = 15

END_SECONDS = 2
"""For which a stream may end as it should when the service stops; then it is cut off."""


class Events:
    """The streams of one process."""

    def __init__(self, access: Access, news: News) -> None:
        self._access = access
        self._news = news
        self._kinds: Counter[bool] = Counter()
        """Streams to those who may see the scan, and to strangers."""
        self._networks: Counter[str] = Counter()

    async def open(self, visit: Visit) -> Response:
        """A stream, if there is a place for it.

        Raises:
            Refusal: there are too many streams, of this network or of all.
        """
        sees_scan = self._access.scan(visit)
        self._news.look()
        self._check(visit.network, sees_scan=sees_scan)
        return Stream(self, visit.network, sees_scan=sees_scan)

    @contextmanager
    def place(self, network: str, *, sees_scan: bool) -> Iterator[None]:
        """The place of one stream, and an ear for the news."""
        self._kinds[sees_scan] += 1
        self._networks[network] += 1
        try:
            with self._news.listening():
                yield
        finally:
            self._kinds[sees_scan] -= 1
            self._networks[network] -= 1
            if not self._networks[network]:
                del self._networks[network]

    async def tell(self, names: Set[str], ending: anyio.Event) -> AsyncIterator[bytes]:
        """The events of some names, each at once and again whenever it changes; none once `ending`
        is set.
        """
        ends = time.monotonic() + LASTS
        told: dict[str, bytes] = {}
        yield ServerSentEvent(retry=RETRY_SECONDS * 1000).encode()
        while (left := ends - time.monotonic()) > 0 and not ending.is_set():
            bulletin = self._news.bulletin
            for name, event in bulletin.events.items():
                if name in names and told.get(name) != event:
                    told[name] = event
                    yield event
            with anyio.move_on_after(left):
                await _first_of(bulletin.replaced, ending)

    def _check(self, network: str, *, sees_scan: bool) -> None:
        if self._networks[network] >= share_of(MOST):
            raise Refusal(429, "Too many pages on your network are waiting for news.", BUSY_SECONDS)
        is_full = self._kinds.total() >= MOST
        if is_full or (not sees_scan and self._kinds[False] >= MOST_OF_STRANGERS):
            raise Refusal(503, "Too many pages are waiting for news.", BUSY_SECONDS)


class Stream(EventSourceResponse):
    """A stream, which has its place for as long as it is sent."""

    def __init__(self, events: Events, network: str, *, sees_scan: bool) -> None:
        names = {NIGHT, PROGRESS} if sees_scan else {NIGHT}
        ending = anyio.Event()
        super().__init__(
            events.tell(names, ending),
            ping=HEARTBEAT_SECONDS,
            shutdown_event=ending,
            shutdown_grace_period=END_SECONDS,
        )
        self._place = events.place(network, sees_scan=sees_scan)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it until it ends, the reader leaves or the service stops."""
        with self._place:
            await super().__call__(scope, receive, send)


async def _first_of(*events: anyio.Event) -> None:
    """Wait until one of them is set."""
    async with anyio.create_task_group() as group:

        async def wait(event: anyio.Event) -> None:
            await event.wait()
            group.cancel_scope.cancel()

        for event in events:
            group.start_soon(wait, event)

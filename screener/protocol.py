"""Protocol: uvicorn's HTTP/1.1 protocol, which also takes a response in one piece.

A stored answer is then one write to the socket instead of two, and its header fields, known to be
sound, are not looked at one by one. What an app can answer `at_once` needs no task either. All else
is uvicorn's own. It needs httptools; without it uvicorn's plain protocol serves, and is sent the
events of ASGI.
"""

from __future__ import annotations

from contextlib import suppress
from types import FunctionType
from typing import Any

from uvicorn.protocols.http import httptools_impl
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from mcp_server.replies import WHOLE

LARGE = 16 * 1024
"""Bytes from which a body is not worth copying to send it in one piece with its head."""
EXTENSIONS: dict[str, dict[object, object]] = {WHOLE: {}}


class Cycle(RequestResponseCycle):
    """One request and its response."""

    async def send(self, message: Any) -> None:  # noqa: ANN401 - any ASGI event
        """Send an event of ASGI, or a whole response."""
        if message["type"] != WHOLE or self.response_started:
            await super().send(message)
            return
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if not self.disconnected:
            self.send_whole(message["status"], message["head"], message["body"])

    def send_whole(self, status: int, head: bytes, body: bytes) -> None:
        """Send a response that is neither begun nor to be waited for."""
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        fields = [b"%b: %b\r\n" % field for field in self.default_headers]
        close = b"\r\n" if self.keep_alive else b"connection: close\r\n\r\n"
        if self.scope["method"] == "HEAD":
            body = b""
        start = b"".join((STATUS_LINE[status], *fields, head, close))
        if len(body) > LARGE:
            self.transport.writelines((start, body))
        else:
            self.transport.write(start + body)
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()


class Protocol(HttpToolsProtocol):
    """One connection."""

    # The same method with our cycles in it, since uvicorn has no setting for their class.
    on_headers_complete = FunctionType(
        HttpToolsProtocol.on_headers_complete.__code__,
        {**vars(httptools_impl), "RequestResponseCycle": Cycle},
    )

    def on_message_begin(self) -> None:
        """Begin the scope of a request."""
        super().on_message_begin()
        self.scope["extensions"] = EXTENSIONS

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:  # noqa: ANN401 - uvicorn's
        # Requests that came together are all read before the first is answered: the client is
        # then woken once for all of them.
        self.loop.call_soon(self._answer, cycle, app)

    def _answer(self, cycle: Cycle, app: Any) -> None:  # noqa: ANN401 - uvicorn's
        reply = None
        at_once = getattr(app, "at_once", None)
        if at_once is not None and not self.flow.write_paused:
            with suppress(Exception):  # then the app says it in its own way
                reply = at_once(cycle.scope)
        if reply is None:
            super()._start_asgi_task(cycle, app)
        elif not cycle.disconnected:
            cycle.send_whole(reply.status, reply.head, reply.body)

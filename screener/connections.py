"""Connections: how long, how large and how many they may be, before uvicorn sees a byte of them.

uvicorn takes `Connection` by its setting `http`. A parser of its own follows the bytes, so it knows
what the client owes at any moment: a head, a body or nothing. Behind it, uvicorn's own protocol
gets asyncio's callbacks, but nothing of a message that is refused.

A connection whose message is refused gets a short answer and is read on for a moment without
keeping any of it: if a socket is closed with bytes unread, the client may lose the answer (RFC 9112
section 9.6). One for which there is no room may lose its answer so, as it is closed at once.

When the server stops, what has been sent is answered first: the last answer of a connection says
that it is the last one, and a connection without a request is closed after a moment in which one
that is on its way still arrives. A proxy then never sees a reset for a request that it sent.

uvicorn tells open connections alone that it stops. One that is accepted in that moment, while no
other is open, does not learn of it, and is closed with the process, 10 s later at most.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import socket
from collections.abc import Callable
from enum import Enum, auto
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mcp_server.http.edge import CONNECTION
from mcp_server.operations.callers import network_of
from screener.door import Door
from screener.outlet import Outlet


def _refusal(status: str, text: str, *fields: str) -> bytes:
    body = f"{text}\n"
    head = [
        f"HTTP/1.1 {status}",
        "content-type: text/plain; charset=utf-8",
        f"content-length: {len(body)}",
        "x-content-type-options: nosniff",
        "connection: close",
        *fields,
    ]
    return ("\r\n".join(head) + f"\r\n\r\n{body}").encode()


BAD_REQUEST = _refusal("400 Bad Request", "This is not a valid HTTP request.")
TRAILERS = _refusal("400 Bad Request", "Trailer fields are not accepted.")
LATE = _refusal("408 Request Timeout", "The request was not sent in time.")
LARGE_HEAD = _refusal("431 Request Header Fields Too Large", "The header fields are too large.")
CROWDED = _refusal("429 Too Many Requests", "Wait for answers before you send more requests.")
FULL = _refusal("503 Service Unavailable", "Too many connections; try again.", "retry-after: 1")


class RefusedError(Exception):
    """The bytes break a bound; carries the answer."""

    def __init__(self, answer: bytes) -> None:
        super().__init__()
        self.answer = answer


class Phase(Enum):
    """What the client sends next."""

    IDLE = auto()
    """A request, whenever it likes."""
    HEAD = auto()
    BODY = auto()
    GONE = auto()
    """Nothing that is still read."""


class Answering(HttpToolsProtocol):
    """uvicorn's own protocol, which leaves it to the connection how to end when the server stops.

    uvicorn's way closes idle connections at once, with requests unread that have just come.
    """

    def __init__(self, leave: Callable[[], None], **arguments: Any) -> None:  # noqa: ANN401 - uvicorn's
        super().__init__(**arguments)
        self._leave = leave

    def shutdown(self) -> None:
        """Called by the server when it stops."""
        self._leave()


class Connection(asyncio.Protocol):
    """One connection: uvicorn's own protocol, behind the bounds of a door."""

    def __init__(self, door: Door, app_state: dict[str, Any], **arguments: Any) -> None:  # noqa: ANN401 - uvicorn's
        self._door = door
        self._bounds = door.bounds
        state = {**app_state, CONNECTION: self}
        self._inner = Answering(self.leave, app_state=state, **arguments)
        self._clock = asyncio.get_running_loop().time
        self._parser = httptools.HttpRequestParser(self)
        # As in uvicorn: bytes after a request with `Connection: close` are no fault of it.
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._phase = Phase.IDLE
        self._owed = 0  # requests that the app has not answered
        self._begun = False  # whether a byte of the message's head has come
        self._size = self._fields = self._unparsed = 0  # of the head
        self._deadline = self._stalled = math.inf
        self.address = self.network = ""

    # What asyncio calls

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._outlet = Outlet(transport)
        peer = transport.get_extra_info("peername")
        self.address = str(peer[0]) if isinstance(peer, tuple | list) else ""
        self.network = network_of(self.address)
        if self._door.is_closing:
            self._start_clock()
        else:
            self._deadline = self._clock() + self._bounds.head_seconds
        if not self._door.admit(self):
            self._phase = Phase.GONE
            transport.write(FULL)
            transport.close()
            return
        _drop_when_unread(transport, self._bounds.unread_seconds)
        self._outlet.is_open = True
        self._inner.connection_made(self._outlet)

    def data_received(self, data: bytes) -> None:
        if self._phase is Phase.GONE:
            return
        if self._phase is Phase.IDLE:
            self._phase = Phase.HEAD
            self._start_clock()
        before = self._owed, self._phase
        try:
            self._parser.feed_data(data)
            if self._phase is Phase.HEAD:
                self._count_unparsed(len(data), anew=(self._owed, self._phase) != before)
        except httptools.HttpParserUpgrade as upgrade:
            # The request is answered as if it had asked for no upgrade; what follows is not HTTP.
            data, self._phase = data[: upgrade.args[0]], Phase.GONE
        except (httptools.HttpParserError, RefusedError) as error:
            cause = error if isinstance(error, RefusedError) else error.__context__
            self._refuse(cause.answer if isinstance(cause, RefusedError) else BAD_REQUEST)
            return
        self._inner.data_received(data)

    def eof_received(self) -> None:
        self._inner.eof_received()

    def pause_writing(self) -> None:
        self._stalled = self._clock() + self._bounds.unread_seconds
        self._door.wait(self)  # a client that does not read gives way to one that does
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._stalled = math.inf
        if self._owed and self._phase is not Phase.BODY:
            self._door.keep(self)
        self._inner.resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._door.leave(self)
        self._give_up(exc)

    # What the parser calls

    def on_message_begin(self) -> None:
        self._begun = True
        self._size = self._fields = 0
        if self._phase is not Phase.HEAD:  # it follows another request in the same piece
            self._phase = Phase.HEAD
            self._start_clock()

    def on_url(self, url: bytes) -> None:
        self._size += len(url)
        if self._size > self._bounds.head_bytes:
            raise RefusedError(LARGE_HEAD)

    def on_header(self, name: bytes, value: bytes) -> None:
        bounds = self._bounds
        self._fields += 1
        self._size += len(name) + len(value) + 4
        if self._fields > bounds.fields or self._size > bounds.head_bytes:
            raise RefusedError(LARGE_HEAD)
        if self._phase is Phase.BODY:
            # uvicorn would add them to the header, after the app has judged it.
            raise RefusedError(TRAILERS)

    def on_headers_complete(self) -> None:
        self._owed += 1
        if self._owed > self._bounds.pipelined:
            raise RefusedError(CROWDED)
        self._phase = Phase.BODY
        self._unparsed = 0
        if self._owed == 1:
            self._outlet.is_used = False
        self._deadline = self._clock() + self._bounds.body_seconds

    def on_message_complete(self) -> None:
        self._phase = Phase.IDLE
        self._begun = False
        self._door.keep(self)
        self._rest()

    # What the app and the door call

    def answered(self) -> None:
        """The app is done with one request."""
        self._owed -= 1
        if self._phase is not Phase.BODY:
            self._rest()
        elif not self._owed:
            self._door.wait(self)  # what is left of the body is of no use to anybody

    @property
    def is_ending(self) -> bool:
        """Whether the answer that is due is the last one, because the server stops."""
        return self._door.is_closing and self._owed == 1 and self._phase is Phase.IDLE

    def leave(self) -> None:
        """The server stops: answer what has been sent, and close."""
        self._door.is_closing = True
        if self._phase is not Phase.GONE and not self._owed:
            self._start_clock()

    def is_late(self, now: float) -> bool:
        """Whether a time is up."""
        return self._deadline < now or self._stalled < now

    def end_late(self) -> None:
        """End a connection whose time is up, with a word if a request is incomplete."""
        begun = self._begun and self._phase in (Phase.HEAD, Phase.BODY)
        if begun and self._stalled == math.inf:
            self._refuse(LATE)
        elif self._door.is_closing and self._phase is Phase.IDLE and not self._owed:
            self._outlet.close_unless_unread()
        else:
            self.end()

    def end(self) -> None:
        """End the connection at once; the app sees a disconnect."""
        self._phase = Phase.GONE
        self._outlet.abort()

    # Its own

    def _count_unparsed(self, size: int, *, anew: bool) -> None:
        """Bound a head of which the parser has reported only a part, as of one endless field."""
        self._unparsed = 0 if anew else self._unparsed + size
        if self._unparsed > self._bounds.head_bytes:
            raise RefusedError(LARGE_HEAD)

    def _rest(self) -> None:
        """No body is awaited any more; with no answer awaited either, it may give way."""
        if not self._owed:
            self._door.wait(self)
        self._start_clock()

    def _start_clock(self) -> None:
        bounds = self._bounds
        if self._owed:
            seconds = bounds.answer_seconds
        elif self._door.is_closing:
            seconds = bounds.leave_seconds
        else:
            seconds = bounds.head_seconds if self._phase is Phase.HEAD else bounds.idle_seconds
        self._deadline = self._clock() + seconds

    def _refuse(self, answer: bytes) -> None:
        """Refuse the message that is being sent; the app sees a disconnect."""
        current = 1 if self._phase is Phase.BODY else 0
        # Behind the answer to another request, or a begun one, it would be taken for a part of it.
        is_first = self._owed <= current and not (current and self._outlet.is_used)
        self._phase = Phase.GONE
        self._deadline = self._clock() + self._bounds.linger_seconds
        self._door.wait(self)
        self._give_up(ConnectionAbortedError("The request was refused."))
        self._outlet.finish(answer if is_first else b"")

    def _give_up(self, exc: Exception | None) -> None:
        if self._outlet.is_open:
            self._outlet.is_open = False
            self._inner.connection_lost(exc)


def _drop_when_unread(transport: asyncio.Transport, seconds: float) -> None:
    """Let the system drop what a client leaves unread, where it can (TCP_USER_TIMEOUT)."""
    option, stream = getattr(socket, "TCP_USER_TIMEOUT", None), transport.get_extra_info("socket")
    if option is not None and stream is not None:
        with contextlib.suppress(OSError):
            stream.setsockopt(socket.IPPROTO_TCP, option, int(seconds * 1000))

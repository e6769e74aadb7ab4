"""Connections: how long, how large and how many they may be.

uvicorn takes `Connection` by its setting `http`: its own protocol, which follows what the parser
reports, so that it knows what the client owes at any moment: a head, a body or nothing. It uses
only public names of uvicorn, and tests hold what is not documented about them.

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
import select
import socket
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from mcp_server.calls.callers import network_of
from mcp_server.http.application import CONNECTION
from mcp_server.http.requests import Header, Scope
from screener.server.connection_limiter import ConnectionLimiter


def _refusal(status: str, text: str, more: str = "") -> bytes:
    return (
        f"HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\n"
        f"content-length: {len(text) + 1}\r\nx-content-type-options: nosniff\r\n"
        f"connection: close\r\n{more}\r\n{text}\n"
    ).encode()


BAD_REQUEST = _refusal("400 Bad Request", "This is not a valid HTTP request.")
TRAILERS = _refusal("400 Bad Request", "Trailer fields are not accepted.")
LATE = _refusal("408 Request Timeout", "The request was not sent in time.")
LARGE_HEAD = _refusal("431 Request Header Fields Too Large", "The header fields are too large.")
FULL = _refusal("503 Service Unavailable", "Too many connections; try again.", "retry-after: 1\r\n")

IDLE, HEAD, BODY, GONE = range(4)
"""What the client sends next: a request whenever it likes, the rest of a head, that of a body, or
nothing that is still read."""

STATUS_LINES = {each.value: f"HTTP/1.1 {each} {each.phrase}\r\n".encode() for each in HTTPStatus}
CONTROLS = bytes((*range(9), *range(10, 32), 127))
"""What no field may have (RFC 9110 section 5.5)."""

END = b"\r\n\r\n"
"""The end of a head."""

PIECE = 4096
"""Bytes that are parsed at once: after them the bounds are looked at."""


class RefusedError(Exception):
    """The bytes break a bound; its argument is the answer."""


class BufferedTransport(asyncio.Transport):
    """The part of a transport that uvicorn answers with.

    The head of an answer waits for the first bytes of its body, at most until the loop's next turn,
    so that both leave with one call of the system. Once the connection is given up, what is written
    is dropped: uvicorn tells only the last of several pipelined requests that their client is gone.
    """

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__()
        self._transport = transport
        self._call_soon = asyncio.get_running_loop().call_soon
        self._head = b""
        self._turn: asyncio.Handle
        self.is_open = True

    def write(self, data: bytes | bytearray | memoryview[int]) -> None:
        if not self.is_open:
            return
        if self._head:
            self._turn.cancel()
            data, self._head = self._head + data, b""
        elif data[:9] == b"HTTP/1.1 " and data[-4:] == b"\r\n\r\n":
            self._head = bytes(data)
            self._turn = self._call_soon(self.flush)
            return
        self._transport.write(data)

    def flush(self) -> None:
        """Write a head that still waits."""
        if self._head:
            self.write(b"")

    def close(self) -> None:
        if self.is_open:
            self.flush()
            self._transport.close()

    def is_closing(self) -> bool:
        return not self.is_open or self._transport.is_closing()


class Connection(HttpToolsProtocol):
    """One connection: uvicorn's own protocol, within the bounds of a limiter."""

    def __init__(self, limiter: ConnectionLimiter, **arguments: Any) -> None:  # noqa: ANN401 - uvicorn's
        super().__init__(**arguments)
        self.app_state = {**self.app_state, CONNECTION: self}
        self.headers = []
        self._limiter = limiter
        self._clock = asyncio.get_running_loop().time
        self._phase = IDLE
        self._owed = 0  # requests that the app has not answered
        self._last_scope = self.scope  # of the last whole head; a message that begins has a new one
        self._held = b""  # bytes behind as many requests as may wait
        self._unreported = 0  # bytes since the parser reported a head or a part of a body
        self._deadline = self._stalled = math.inf

    # What asyncio calls

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._stream = transport
        self.transport = self._outlet = BufferedTransport(transport)
        self.address = self.client[0] if self.client else ""
        self.network = network_of(self.address)
        self._deadline = self._clock() + self._limiter.bounds.head_seconds
        if self._limiter.admit(self):
            _drop_when_unread(transport, self._limiter.bounds.unread_seconds)
        else:
            self._phase = GONE
            self._give_up(ConnectionAbortedError("There is no room."))
            transport.write(FULL)
            transport.close()

    def data_received(self, data: bytes) -> None:
        """Read on, one head at most at a time. What follows as many requests as may wait is held
        until one of them is answered; nothing more is read meanwhile.
        """
        start, most = 0, self._limiter.bounds.pipelined
        while start < len(data) and self._phase != GONE:
            if self._owed >= most:
                self._held = data[start:]
                self.flow.pause_reading()
                return
            end = data.find(END, start, start + PIECE)
            end = end + len(END) if end >= 0 else start + PIECE
            self._read(data[start:end])
            start = end

    def _read(self, piece: bytes) -> None:
        before = self._phase
        if before == IDLE:
            self._phase = HEAD
        self._unreported += len(piece)
        try:
            self.parser.feed_data(piece)
            if self._phase != IDLE or self.scope is not self._last_scope:
                self._look_at_part(before)
        except httptools.HttpParserUpgrade:
            self._read_without_upgrade()
        except (httptools.HttpParserError, RefusedError) as error:
            cause = error if isinstance(error, RefusedError) else error.__context__
            self._refuse(cause.args[0] if isinstance(cause, RefusedError) else BAD_REQUEST)

    def _read_without_upgrade(self) -> None:
        """Read the head again as if it had not asked for another protocol (RFC 9110 section 7.8):
        the parser would take the body for a part of that protocol.
        """
        method, version = self.parser.get_method(), self.parser.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (method, self.url, version)]
        for name, value in self.headers:
            if name == b"connection":
                words = (word.strip() for word in value.split(b","))
                others = b", ".join(word for word in words if word.lower() != b"upgrade")
                lines.append(b"connection: " + others)
            elif name != b"upgrade":
                lines.append(b"%b: %b" % (name, value))
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn's
        self._unreported = 0
        self.data_received(b"\r\n".join(lines) + END)

    def pause_writing(self) -> None:
        self._stalled = self._clock() + self._limiter.bounds.unread_seconds
        self._may_give_way()  # a client that does not read, to one that does
        super().pause_writing()

    def resume_writing(self) -> None:
        self._stalled = math.inf
        if self._owed and self._phase != BODY:
            self._limiter.waiting.pop(self, None)
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        self._limiter.leave(self)
        self._give_up(exc)

    # What the parser calls

    def on_headers_complete(self) -> None:
        bounds = self._limiter.bounds
        if len(self.headers) > bounds.fields or (
            self._unreported > bounds.head_bytes - PIECE and self._head_size() > bounds.head_bytes
        ):
            raise RefusedError(LARGE_HEAD)
        if self._is_upgrade():
            return
        super().on_headers_complete()
        self._owed += 1
        self._phase, self._unreported = BODY, 0
        self._last_scope, self.headers = self.scope, []  # what is added now are trailers
        self._deadline = self._clock() + bounds.body_seconds

    def on_body(self, body: bytes) -> None:
        self._unreported = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self._is_upgrade():
            return
        if self.headers:
            raise RefusedError(TRAILERS)
        super().on_message_complete()
        # As in uvicorn: bytes after the last request of a connection are no fault of it.
        self._phase = IDLE if self.cycle.keep_alive else GONE
        bounds = self._limiter.bounds
        if self._owed:
            self._limiter.waiting.pop(self, None)
            self._deadline = self._clock() + bounds.answer_seconds
        else:
            self._may_give_way()
            self._deadline = self._clock() + bounds.idle_seconds

    # What the app, uvicorn and the limiter call

    def answer(self, scope: Scope, status: int, fields: Sequence[Header], body: bytes) -> bool:
        """Write a whole answer, whose fields name its length, as uvicorn would by two messages and
        in 10 us more; False if uvicorn must: the answer has to wait, is to HEAD, or is the last.

        Raises:
            ValueError: a field would begin another one.
        """
        cycle = self.cycle
        if (
            cycle.scope is not scope
            or cycle.disconnected
            or cycle.response_started
            or not cycle.keep_alive
            or self.flow.write_paused
            or scope["method"] == "HEAD"
        ):
            return False
        pieces = [STATUS_LINES[status]]
        for name, value in (*self.server_state.default_headers, *fields):
            pieces += (name, b": ", value, b"\r\n")
        head = b"".join(pieces)
        if len(head.translate(None, CONTROLS)) != len(head) - 2 * (len(pieces) // 4 + 1):
            raise ValueError
        cycle.response_started = cycle.response_complete = True
        cycle.waiting_for_100_continue = False
        self._outlet.write(b"".join((head, b"\r\n", body)))
        cycle.message_event.set()
        self.on_response_complete()
        return True

    @property
    def is_ending(self) -> bool:
        """Whether the answer that is due is the last one, because the server stops."""
        return self._limiter.is_closing and self._owed == 1 and self._phase == IDLE

    def on_response_complete(self) -> None:
        """An answer is complete."""
        owed = self._owed = self._owed - 1
        phase, bounds = self._phase, self._limiter.bounds
        self._outlet.flush()
        if not owed and self._outlet.is_open:
            self._limiter.waiting[self] = None  # of no use to anybody is what is left of a body
        if phase != BODY:
            rest = bounds.head_seconds if phase == HEAD else bounds.idle_seconds
            self._deadline = self._clock() + (bounds.answer_seconds if owed else rest)
        if self.pipeline:
            super().on_response_complete()  # begins with the next request
        else:  # without uvicorn's timer for idle connections, as the limiter has a clock for all
            self.server_state.total_requests += 1
            self.flow.resume_reading()
        if self._held:
            held, self._held = self._held, b""
            self.data_received(held)

    def shutdown(self) -> None:
        """The server stops: answer what has been sent, and close."""
        self._limiter.close()
        if self._phase != GONE and not self._owed:
            self._deadline = self._clock() + self._limiter.bounds.leave_seconds

    def is_late(self, now: float) -> bool:
        """Whether a time is up."""
        return self._deadline < now or self._stalled < now

    def end_late(self) -> None:
        """End a connection whose time is up, with a word if a request is incomplete."""
        is_begun = self._phase == BODY or (
            self._phase == HEAD and self.scope is not self._last_scope
        )
        is_done = self._phase in (IDLE, GONE) and self._outlet.is_open and not self._owed
        if is_begun and self._stalled == math.inf:
            self._refuse(LATE)
        elif is_done and self._limiter.is_closing:
            if not (self._stream.is_closing() or _has_unread(self._stream)):
                self._outlet.close()
        else:
            self.end()

    def end(self) -> None:
        """End the connection at once; the app sees a disconnect."""
        self._phase = GONE
        self._give_up(ConnectionAbortedError("The connection was ended."))
        self._stream.abort()

    # Its own

    def _is_upgrade(self) -> bool:
        """Whether the parser takes what follows the head for another protocol."""
        return self.parser.should_upgrade() and self.parser.get_method() != b"CONNECT"

    def _look_at_part(self, before: int) -> None:
        """Bound what the parser holds of a message that goes on after a piece, and start the clock
        of its head if it has begun in that piece, whose first byte met the phase `before`.
        """
        bounds = self._limiter.bounds
        if self._phase == IDLE:  # the message follows another one
            self._phase, before = HEAD, IDLE
        if self._phase == HEAD and before == IDLE:
            seconds = bounds.answer_seconds if self._owed else bounds.head_seconds
            self._deadline = self._clock() + seconds
        if len(self.headers) > bounds.fields or self._unreported > bounds.head_bytes + PIECE:
            raise RefusedError(LARGE_HEAD)
        if self._phase == BODY and self.headers:
            raise RefusedError(TRAILERS)

    def _head_size(self) -> int:
        """Bytes of a head that the parser has reported."""
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _may_give_way(self) -> None:
        """No answer is awaited, or read; another connection may have the place of this one."""
        if self._outlet.is_open:
            self._limiter.waiting[self] = None

    def _refuse(self, answer: bytes) -> None:
        """Refuse the message that is being sent; the app sees a disconnect."""
        has_head = self._phase == BODY
        # Behind the answer to another request, or a begun one, it would be taken for a part of it.
        is_first = self._owed <= has_head and not (has_head and self.cycle.response_started)
        self._phase = GONE
        self._deadline = self._clock() + self._limiter.bounds.linger_seconds
        self._may_give_way()
        self._outlet.flush()
        self._give_up(ConnectionAbortedError("The request was refused."))
        if not self._stream.is_closing():
            self._stream.write(answer if is_first else b"")
            self._stream.resume_reading()  # what still comes can be received
            self._stream.write_eof()

    def _give_up(self, exc: Exception | None) -> None:
        if self._outlet.is_open:
            self._outlet.is_open = False
            super().connection_lost(exc)


def _has_unread(transport: asyncio.Transport) -> bool:
    """Whether bytes have come that are not read yet. They may be a request, and if the connection
    were closed the client would get a reset in the place of its answer.
    """
    stream = transport.get_extra_info("socket")
    if stream is None or not hasattr(select, "poll"):  # poll knows descriptors over 1023
        return False
    waiting = select.poll()
    waiting.register(stream.fileno(), select.POLLIN)
    return bool(waiting.poll(0))


def _drop_when_unread(transport: asyncio.Transport, seconds: float) -> None:
    """Let the system drop what a client leaves unread, where it can (TCP_USER_TIMEOUT)."""
    option, stream = getattr(socket, "TCP_USER_TIMEOUT", None), transport.get_extra_info("socket")
    if option is not None and stream is not None:
        with contextlib.suppress(OSError):
            stream.setsockopt(socket.IPPROTO_TCP, option, int(seconds * 1000))

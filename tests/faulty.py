"""A proxy between a client and an HTTP server that goes wrong in one way at a time, over sockets.

with faulty(server.url) as proxy:
    client = connect(proxy.url)
    with proxy.failing("cut", name=".book"):
        ...
"""

from __future__ import annotations

import http.client
import itertools
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

Kind = Literal["slow", "unavailable", "cut", "wrong", "lost", "silent", "refused"]
"""How a request goes wrong.

slow: the body of the answer drips.
unavailable: 503, and the server never learns of the request.
cut: the connection is reset in the middle of the body.
wrong: one bit of the body is another one.
lost: the server does what it is asked, and the connection is reset instead of its answer.
silent: no answer comes, for as long as the client waits.
refused: each connection is reset at once, as where nothing listens.
"""

DRIP_BYTES, DRIP_SECONDS = 512, 0.1
"""So much of the body at a time, and so long between."""

HOP = ("connection", "keep-alive", "transfer-encoding", "content-length")
"""Fields of one connection, which are not passed on."""


class Asked(NamedTuple):
    """A request that reached the proxy."""

    method: str
    path: str


@dataclass
class Fault:
    """What goes wrong, for requests of which method and with what in their path."""

    kind: Kind
    method: str
    name: str
    times: int | None
    struck: int = 0
    """How many requests it has hit."""

    def hits(self, asked: Asked) -> bool:
        """Whether it hits a request; counts it."""
        spent = self.times is not None and self.struck >= self.times
        if spent or self.method not in ("", asked.method) or self.name not in asked.path:
            return False
        self.struck += 1
        return True


@dataclass
class Proxy:
    """A running proxy: its address, what it was asked, and what goes wrong now."""

    url: str
    upstream: str
    asked: list[Asked] = field(default_factory=list)
    fault: Fault | None = None
    over: threading.Event = field(default_factory=threading.Event)
    """Set while no fault is on, so that what waits for one to end does."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def failing(
        self, kind: Kind, *, method: str = "", name: str = "", times: int | None = None
    ) -> Iterator[Fault]:
        """Let requests go wrong within the block: those of a method, or with a name in the path,
        the first so many; all of them unless told otherwise.
        """
        self.over.clear()  # before the fault: what it hits first waits, too
        self.fault = Fault(kind, method, name, times)
        try:
            yield self.fault
        finally:
            self.fault = None
            self.over.set()

    def fate(self, asked: Asked) -> Kind | None:
        """What becomes of a request."""
        with self._lock:
            self.asked.append(asked)
            fault = self.fault
            return fault.kind if fault is not None and fault.hits(asked) else None

    @property
    def refuses(self) -> bool:
        """Whether a new connection is reset."""
        fault = self.fault
        if fault is None or fault.kind != "refused":
            return False
        fault.struck += 1
        return True


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, proxy: Proxy) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.proxy = proxy

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that has gone is no fault of a test."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def handle(self) -> None:
        if self.server.proxy.refuses:
            self._reset()
        else:
            super().handle()

    def log_message(self, *_arguments: object) -> None:
        """Nothing is logged."""

    def handle_one_request(self) -> None:
        with suppress(OSError, http.client.HTTPException):
            super().handle_one_request()
            return
        self.close_connection = True

    def _pass_on(self) -> None:
        proxy = self.server.proxy
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        fate = proxy.fate(Asked(self.command, self.path))
        if fate == "unavailable":
            self._answer(503, [], b"away")
        elif fate in ("silent", "refused"):
            if fate == "silent":
                proxy.over.wait()
            self._reset()
        else:
            status, headers, answer = self._ask(body)
            if fate == "lost":
                self._reset()
            else:
                self._answer(status, headers, answer, fate)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass_on  # noqa: N815 - http.server's

    def _ask(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        upstream = urlsplit(self.server.proxy.upstream)
        connection = http.client.HTTPConnection(upstream.hostname or "", upstream.port, timeout=60)
        try:
            headers = {
                name: value for name, value in self.headers.items() if name.lower() not in HOP
            }
            connection.request(self.command, self.path, body or None, headers)
            answer = connection.getresponse()
            content = answer.read()
            kept = [(name, value) for name, value in answer.getheaders() if name.lower() not in HOP]
            if self.command == "HEAD":
                kept.append(("content-length", answer.getheader("content-length") or "0"))
            return answer.status, kept, content
        finally:
            connection.close()

    def _answer(
        self, status: int, headers: list[tuple[str, str]], body: bytes, fate: Kind | None = None
    ) -> None:
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        if not any(name.lower() == "content-length" for name, _ in headers) and status != 304:
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        if fate == "wrong" and body:
            middle = len(body) // 2
            body = body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :]
        if fate == "cut" and body:
            self.wfile.write(body[: len(body) // 2])
            self.wfile.flush()
            self._reset()
        elif fate == "slow":
            self._drip(body)
        else:
            self.wfile.write(body)

    def _drip(self, body: bytes) -> None:
        over = self.server.proxy.over
        for at in itertools.count(0, DRIP_BYTES):
            if at >= len(body):
                return
            self.wfile.write(body[at : at + DRIP_BYTES])
            self.wfile.flush()
            over.wait(DRIP_SECONDS)

    def _reset(self) -> None:
        """End the connection as a machine does that has lost power: by RST, without an end."""
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()


@contextmanager
def faulty(upstream: str) -> Iterator[Proxy]:
    """Run a proxy to an HTTP server, such as `http://127.0.0.1:5000`, within the block."""
    proxy = Proxy("", upstream)
    proxy.over.set()
    server = _Server(proxy)
    proxy.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield proxy
    finally:
        proxy.over.set()
        server.shutdown()
        thread.join()
        server.server_close()

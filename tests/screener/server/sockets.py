"""A server with given bounds, and what a client sends it and reads over a real socket."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio.to_thread
import pytest
import uvicorn

from mcp_server.http.application import Application
from mcp_server.http.requests import BodyError, Receive, Scope, Send, read_body
from mcp_server.http.responses import response
from screener.server.connection_limiter import ConnectionLimits
from screener.server.serving import server_config
from screener.settings.settings import Settings

LONG = 60.0

PATIENT = ConnectionLimits(LONG, LONG, LONG, LONG, LONG, LONG)
"""No time is up within a test."""

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"

BUSY = b"GET /busy HTTP/1.1\r\nHost: x\r\n\r\n"

POST = b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n"

HEAD = re.compile(rb".*?\ncontent-length: (\d+)\r\n.*?\r\n\r\n", re.DOTALL)

App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Echo:
    """An app that answers with the body or the path, and notes that a client left."""

    def __init__(self) -> None:
        self.left = threading.Event()
        self.begun = threading.Semaphore(0)
        self.go = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] == "/now":
            await response(200)(scope, receive, send)
            return
        if scope["path"] == "/busy":
            self.begun.release()
            await anyio.to_thread.run_sync(self.go.wait)
        if scope["path"] == "/large":
            await send({"type": "http.response.start", "status": 200, "headers": []})
            for _ in range(40):
                await send({"type": "http.response.body", "body": b"a" * 10**6, "more_body": True})
            if (await receive())["type"] == "http.request":
                await receive()
            self.left.set()
            return
        try:
            body = await read_body(receive)
            if scope["path"] == "/wait":
                while (await receive())["type"] != "http.disconnect":
                    pass
                self.left.set()
        except BodyError as error:
            assert error.status == 400, "the client went away"
            self.left.set()
            return
        await response(200, body or scope["path"].encode())(scope, receive, send)


@contextmanager
def started(
    bounds: ConnectionLimits = PATIENT, app: App | None = None, **settings: Any
) -> Iterator[tuple[int, uvicorn.Server]]:
    """A server with these bounds, and its port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        edge = Application(app or Echo(), at_once=64, is_https=False, docs_url="http://x/docs")

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            await edge(scope, receive, send)

        config = server_config(serve, Settings(**settings), bounds, log_config=None, lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield listener.getsockname()[1], server
        finally:
            server.should_exit = True
            thread.join(timeout=30)
            assert not thread.is_alive()


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=30)


def read_to_end(client: socket.socket) -> bytes:
    """All that the server sends until it closes."""
    pieces = []
    try:
        while piece := client.recv(65536):
            pieces.append(piece)
    except ConnectionError:
        pass
    return b"".join(pieces)


def read_answer(client: socket.socket) -> bytes:
    """One answer with a content length."""
    received = b""
    while not (head := HEAD.match(received)) or len(received) < head.end() + int(head[1]):
        received += client.recv(65536) or pytest.fail(f"closed after {received!r}")
    assert len(received) == head.end() + int(head[1])
    return received


def ask(client: socket.socket, request: bytes = GET) -> bytes:
    """The answer to a request on an open connection."""
    client.sendall(request)
    return read_answer(client)


def status(answer: bytes) -> int:
    assert answer.count(b"HTTP/1.1 ") == 1, answer
    return int(answer.split()[1])


def busy(port: int, app: Echo) -> socket.socket:
    """A connection whose request the app is at work on."""
    client = connect(port)
    client.sendall(BUSY)
    assert app.begun.acquire(timeout=30)
    return client


def listens(port: int) -> bool:
    try:
        connect(port).close()
    except ConnectionError:
        return False
    return True

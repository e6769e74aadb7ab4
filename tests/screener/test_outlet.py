"""How answers leave: each in one write, and none waits for what comes late."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from uvicorn.server import ServerState

from mcp_server.http.requests import Receive, Scope, Send
from screener.serving import server_config
from screener.settings import Settings

GET = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


class Wire(asyncio.Transport):
    """The transport of a client; keeps each write apart."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []
        self.is_closed = False

    def write(self, data: bytes | bytearray | memoryview[int]) -> None:
        self.written.append(bytes(data))

    def write_eof(self) -> None:
        pass

    def close(self) -> None:
        self.is_closed = True

    def is_closing(self) -> bool:
        return self.is_closed

    def resume_reading(self) -> None:
        pass


def send(data: bytes, status: int = 200, late: asyncio.Event | None = None) -> tuple[Wire, Any]:
    """What a connection writes after these bytes, and the connection; a body may be late."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [] if status == 204 else [(b"content-length", b"5")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        if late is not None:
            await late.wait()
        body = b"" if scope["method"] == "HEAD" or status == 204 else b"hello"
        await send({"type": "http.response.body", "body": body})
        scope["state"]["connection"].answered()

    config = server_config(app, Settings(), log_config=None, lifespan="off")
    config.load()
    make: Any = config.http_protocol_class
    connection = make(config=config, server_state=ServerState(), app_state={})
    wire = Wire()
    connection.connection_made(wire)
    connection.data_received(data)
    return wire, connection


async def turns(count: int) -> None:
    """Let the loop turn so many times."""
    for _ in range(count):
        await asyncio.sleep(0)


@pytest.mark.parametrize(("status", "end"), [(200, b"\r\n\r\nhello"), (204, b"\r\n\r\n")])
async def test_the_head_and_the_body_of_an_answer_leave_in_one_write(
    status: int, end: bytes
) -> None:
    wire, connection = send(GET, status)
    await turns(1)

    assert [each.endswith(end) for each in wire.written] == [True]
    assert connection.timeout_keep_alive_task is None  # the door has one clock for all


@pytest.mark.parametrize("method", [b"GET", b"HEAD"])
async def test_a_head_waits_for_a_body_no_longer_than_a_turn_of_the_loop(method: bytes) -> None:
    late = asyncio.Event()
    wire, _ = send(GET.replace(b"GET", method), late=late)
    await turns(2)
    assert [each.endswith(b"\r\n\r\n") for each in wire.written] == [True]

    late.set()
    await turns(2)

    assert wire.written[1:] == ([b"hello"] if method == b"GET" else [])


async def test_a_refusal_stands_behind_the_answers_before_it() -> None:
    wire, connection = send(GET.replace(b"GET", b"HEAD"))
    await turns(1)
    assert wire.written == []  # the turn is not over

    connection.data_received(b"\0")

    assert [each[:12] for each in wire.written] == [b"HTTP/1.1 200", b"HTTP/1.1 400"]


async def test_bytes_after_the_last_request_of_a_connection_are_no_fault_of_it() -> None:
    last = GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    wire, _ = send(last + b"x" * 200_000)
    await turns(2)

    assert wire.is_closed
    assert [each.endswith(b"hello") for each in wire.written] == [True]

"""How answers leave: each in one write, and no head waits for a body that comes late."""

from __future__ import annotations

import asyncio
from unittest.mock import Mock

import pytest
from uvicorn.config import Config
from uvicorn.server import ServerState

from mcp_server.http.requests import Header, Receive, Scope, Send
from mcp_server.http.responses import HttpResponse
from screener.server.connection_limiter import ConnectionLimiter, ConnectionLimits
from screener.server.connections import Connection
from tests.screener.server.sockets import GET, App, connect, read_to_end, started

LAST = GET[:-2] + b"Connection: close\r\n\r\n" + b"x" * 200_000
BODY = b"5\r\nhello\r\n0\r\n\r\n"


def answering(data: bytes, late: asyncio.Event | None = None) -> tuple[Connection, list[bytes]]:
    """A connection that got these bytes, and what it writes; the body of its answer may be late."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})
        if late is not None:
            await late.wait()
        await send({"type": "http.response.body", "body": b"hello"})

    return connected(app, data)


def connected(app: App, data: bytes) -> tuple[Connection, list[bytes]]:
    """A connection to an app that got these bytes, and what it writes."""
    connection = Connection(
        ConnectionLimiter(ConnectionLimits()),
        config=Config(app, log_config=None),
        server_state=ServerState(),
        app_state={},
    )
    written: list[bytes] = []
    wire = {"write.side_effect": written.append, "is_closing.return_value": False}
    connection.connection_made(Mock(asyncio.Transport, **wire))
    connection.data_received(data)
    return connection, written


async def test_a_head_waits_for_a_body_no_longer_than_a_turn_of_the_loop() -> None:
    late = asyncio.Event()
    _, written = answering(GET, late)
    await asyncio.sleep(0)
    assert written == []
    await asyncio.sleep(0)
    assert [each.endswith(b"\r\n\r\n") for each in written] == [True]

    late.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert written[1:] == [BODY]


def test_a_head_without_a_body_is_written_before_the_connection_closes() -> None:
    with started() as (port, _), connect(port) as client:
        client.sendall(b"HEAD /x HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")

        assert read_to_end(client).startswith(b"HTTP/1.1 200")


async def test_a_head_that_waits_is_written_before_a_refusal() -> None:
    connection, written = answering(GET.replace(b"GET", b"HEAD"))
    await asyncio.sleep(0)
    connection.data_received(b"\0")

    assert [each[:12] for each in written] == [b"HTTP/1.1 200", b"HTTP/1.1 400"]


async def test_an_answer_that_comes_after_the_connection_was_given_up_is_dropped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """uvicorn does not tell the first of two requests that the second one ended the connection."""
    late = asyncio.Event()
    _, written = answering(GET + GET + b"\0", late)
    late.set()
    for _ in range(4):
        await asyncio.sleep(0)

    assert b"".join(written) == b""
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []


@pytest.mark.parametrize(
    ("status", "fields", "body"),
    [
        (200, [(b"content-length", b"5"), (b"x", b"\x80 a\tb")], b"hello"),
        (404, [(b"content-length", b"0")], b""),
        (304, [(b"etag", b'"a"')], b""),
        (204, [], b""),
    ],
)
@pytest.mark.parametrize(
    "data",
    [GET, GET + GET, LAST, GET.replace(b"GET", b"HEAD"), GET.replace(b"1.1", b"1.0")],
    ids=["one", "two", "last", "head", "old"],
)
async def test_a_whole_answer_is_what_uvicorn_writes_of_its_messages(
    data: bytes, status: int, fields: list[Header], body: bytes
) -> None:
    reply = HttpResponse(status, fields, body)
    wholes: list[bool] = []

    async def at_once(scope: Scope, receive: Receive, send: Send) -> None:
        wholes.append(scope["state"]["connection"].answer(scope, status, fields, body))
        if not wholes[-1]:
            await reply(scope, receive, send)

    ours, uvicorns = connected(at_once, data)[1], connected(reply, data)[1]
    for _ in range(6):
        await asyncio.sleep(0)

    assert b"".join(ours) == b"".join(uvicorns) != b""
    assert wholes[-1] is (data in (GET, GET + GET))


@pytest.mark.parametrize("value", [b"a\r\nset-cookie: b", b"a\nb", b"\0", b"\x7f"])
async def test_no_field_of_a_whole_answer_begins_another_one(value: bytes) -> None:
    async def app(scope: Scope, _receive: Receive, _send: Send) -> None:
        scope["state"]["connection"].answer(scope, 200, [(b"x", value)], b"")

    _, written = connected(app, GET)
    await asyncio.sleep(0)

    assert [each[:12] for each in written] == [b"HTTP/1.1 500"]

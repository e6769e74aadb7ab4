"""Connections: what a stranger may hold open, send and leave unread, over real sockets."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mcp_server.http.requests import Receive, Scope, Send
from screener.server.connection_limiter import ConnectionLimits
from tests.screener.server.sockets import (
    BUSY,
    GET,
    LONG,
    POST,
    Echo,
    ask,
    busy,
    connect,
    read_answer,
    read_to_end,
    started,
    status,
)

CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


class Counted:
    """An app that notes which paths it was asked for, in their order."""

    def __init__(self) -> None:
        self.echo = Echo()
        self.paths = list[bytes]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.paths.append(scope["path"].encode())
        await self.echo(scope, receive, send)


@contextmanager
def listening(*given: Any, **named: Any) -> Iterator[int]:
    """The port of a server with these bounds."""
    with started(*given, **named) as (port, _):
        yield port


def exchange(port: int, *pieces: bytes) -> bytes:
    """What the server sends to somebody who sends these pieces and waits for the end."""
    with connect(port) as client:
        for piece in pieces:
            try:
                client.sendall(piece)
            except ConnectionError:
                break
        return read_to_end(client)


@pytest.fixture(scope="module")
def patient() -> Iterator[int]:
    with listening() as port:
        yield port


@pytest.fixture(scope="module")
def hasty() -> Iterator[int]:
    """A server whose times are up at once."""
    with listening(ConnectionLimits(0.2, 0.2, LONG, 0.2, 0.2, 0.2)) as port:
        yield port


def test_a_request_is_answered_and_the_connection_serves_the_next(patient: int) -> None:
    with connect(patient) as client:
        for piece in (GET, POST + b"hello", b"\r\n" + GET):
            assert status(ask(client, piece)) == 200


def test_a_large_body_behind_a_small_head_is_no_large_head(patient: int) -> None:
    body = b"a" * 65_000
    head = b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"

    with connect(patient) as client:
        assert ask(client, head % (b"/", len(body)) + body).endswith(body)
        assert status(ask(client, head % (b"/now", 200_000))) == 200
        client.sendall(b"a" * 200_000 + GET)  # of no use to anybody, and no fault
        assert status(read_answer(client)) == 200


LARGE_HEADS = {
    "fields": b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 102,
    "flood": b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 50_000,
    "value": b"GET / HTTP/1.1\r\na: " + b"b" * 70_000,
    "name": b"GET / HTTP/1.1\r\n" + b"b" * 70_000,
    "target": b"GET /" + b"b" * 70_000,
    "sum": b"GET / HTTP/1.1\r\n" + (b"a: " + b"b" * 10_000 + b"\r\n") * 7 + b"\r\n",
    "lines": b"\r\n" * 40_000,
    "trailer": CHUNKED + b"0\r\na: " + b"b" * 80_000,
    "trailer's name": CHUNKED + b"0\r\n" + b"a" * 80_000,
    "extension of a chunk": CHUNKED + b"1;" + b"a" * 80_000,
}


@pytest.mark.parametrize("head", LARGE_HEADS.values(), ids=LARGE_HEADS)
def test_a_head_that_is_too_large_is_refused(patient: int, head: bytes) -> None:
    answer = exchange(patient, head[:-9], head[-9:])

    assert status(answer) == 431
    assert b"connection: close" in answer


def test_who_still_sends_after_a_refusal_meets_no_reset() -> None:
    """RFC 9112 section 9.6: with a reset, the client may lose the answer."""
    with listening() as port, connect(port) as client:
        client.sendall(b"GET / HTTP/1.1\r\na: " + b"b" * 70_000)
        answer = read_to_end(client)
        for _ in range(50):
            client.sendall(b"b" * 1000)
        client.shutdown(socket.SHUT_WR)

        assert status(answer) == 431
        assert client.recv(1) == b""


@pytest.mark.parametrize(
    "bytes_sent",
    [
        b"\x16\x03\x01\x02\x00",
        b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n",
        CHUNKED + b"zz\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"CONNECT a:443 HTTP/1.1\r\n\r\n",
        b"GET http://[ HTTP/1.1\r\n\r\n",
        CHUNKED + b"0\r\nA: b\r\n\r\n",
        CHUNKED + b"0\r\nA: b\r\nC: d\r\n",
    ],
)
def test_what_is_not_http_is_refused(patient: int, bytes_sent: bytes) -> None:
    assert status(exchange(patient, bytes_sent)) == 400


@pytest.mark.parametrize(
    "fields",
    [
        b"Connection: Upgrade\r\nUpgrade: websocket",
        b"Connection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABk\r\nUpgrade: h2c",
        b"Upgrade: h2c, foo/2\r\nConnection: keep-alive, UPGRADE\r\nX: " + b"x" * 9000,
    ],
)
@pytest.mark.parametrize("cut", [10, 95, None])
def test_an_upgrade_is_ignored_and_the_body_is_read(
    patient: int, fields: bytes, cut: int | None
) -> None:
    """Java's own client and `curl --http2` ask for h2c with each request."""
    head = b"PUT /echo HTTP/1.1\r\nHost: x\r\n%b\r\n" % fields
    whole = head + b"Content-Length: 5\r\n\r\nhello"
    chunked = head + b"Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"

    with connect(patient) as client:
        for sent in (whole, chunked, head + b"\r\n", whole):
            client.sendall(sent[:cut])
            answer = ask(client, sent[cut:] if cut else b"")
            assert status(answer) == 200
            assert answer.endswith(b"hello" if b"hel" in sent else b"/echo")


def test_connection_close_holds_for_a_request_that_asks_for_an_upgrade(patient: int) -> None:
    head = b"POST / HTTP/1.1\r\nHost: x\r\nConnection: close, Upgrade\r\nUpgrade: h2c\r\n"

    answer = exchange(patient, head + b"Content-Length: 3\r\n\r\nabc" + GET)

    assert status(answer) == 200
    assert answer.endswith(b"abc")


@pytest.mark.parametrize("number", [10, 17, 33, 2500])
@pytest.mark.parametrize("body", [b"", b"a\r\n\r\nb"])
def test_requests_that_are_sent_at_once_are_answered_one_by_one_in_their_order(
    number: int, body: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    app = Counted()
    paths = [b"/%d" % n for n in range(number)]
    head = b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b"
    sent = b"".join(head % (path, len(body), body) for path in paths)

    with caplog.at_level(logging.INFO), listening(app=app) as port:
        answers = exchange(port, sent + GET.replace(b"x", b"x\r\nConnection: close"))

    assert app.paths == [*paths, b"/"]
    told = [answer.partition(b"\r\n\r\n")[2] for answer in answers.split(b"HTTP/1.1 200")[1:]]
    assert told == [*(body or path for path in paths), b"/"]
    assert [r.message for r in caplog.records if r.levelno > logging.INFO] == []


def test_requests_behind_a_slow_one_are_not_begun(patient: int) -> None:
    app = Counted()
    with listening(app=app) as port, connect(port) as client:
        client.sendall(BUSY + GET * 3000)
        assert app.echo.begun.acquire(timeout=30)
        assert app.paths == [b"/busy"]
        app.echo.go.set()
        received = b""
        while received.count(b"HTTP/1.1 200") < 3001:
            received += client.recv(65536) or pytest.fail("closed before all were answered")


def test_who_sends_nothing_is_disconnected_without_a_word(hasty: int) -> None:
    assert exchange(hasty) == b""
    assert exchange(hasty, b"\r\n") == b""


@pytest.mark.parametrize("sent", [GET[:-2], GET[:1], POST + b"he", POST])
def test_who_sends_a_part_of_a_request_is_told_when_the_time_is_up(hasty: int, sent: bytes) -> None:
    assert status(exchange(hasty, sent)) == 408


def test_an_idle_connection_is_closed(hasty: int) -> None:
    with connect(hasty) as client:
        assert status(ask(client)) == 200
        assert read_to_end(client) == b""


def test_the_first_byte_after_an_answer_starts_the_clock_of_a_head() -> None:
    with listening(ConnectionLimits(0.2, LONG, LONG, LONG, LONG, 0.2)) as port:
        for sent, answer in ((b"\r\n", b""), (b"G", b"HTTP/1.1 408")):
            with connect(port) as client:
                ask(client)
                client.sendall(sent)
                assert read_to_end(client)[:12] == answer


def test_an_answer_that_comes_late_ends_the_connection() -> None:
    app = Echo()

    with listening(ConnectionLimits(LONG, LONG, 0.2, LONG, LONG, 0.2), app) as port:
        assert exchange(port, GET.replace(b"/ ", b"/wait ")) == b""
        assert app.left.wait(30)


@pytest.mark.parametrize("by", ["the system", "the limiter"])
def test_a_client_that_does_not_read_is_disconnected(
    monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    if by == "the limiter":
        monkeypatch.setattr("screener.server.connections._drop_when_unread", lambda *_: None)
    app, bounds = Echo(), ConnectionLimits(LONG, LONG, LONG, LONG, 0.2, 0.2)

    with listening(bounds, app) as port, connect(port) as client:
        client.sendall(GET.replace(b"/ ", b"/large "))
        assert app.left.wait(30)
        assert len(read_to_end(client)) < 40_000_000


@pytest.mark.parametrize(
    ("sent", "begins", "oldest", "rest"),
    [
        (GET, b"HTTP/1.1 200", -1, GET),
        (POST.replace(b"x", b"x\r\nExpect: 100-continue", 1), b"HTTP/1.1 100", 0, b"hello"),
        (POST.replace(b"/echo", b"/now"), b"HTTP/1.1 200", 0, b""),
    ],
    ids=["idle", "slow body", "answered without its body"],
)
def test_who_waits_longest_gives_way(sent: bytes, begins: bytes, oldest: int, rest: bytes) -> None:
    """Since its last answer, or since it came."""
    app = Echo()
    with listening(app=app, connections=8, trusted_proxies=("127.0.0.1",)) as port:
        working = busy(port, app)
        waiting = [connect(port) for _ in range(7)]
        try:
            for client in reversed(waiting):
                client.sendall(sent)
                answer = client.recv(300) if b"100-continue" in sent else read_answer(client)
                assert answer.startswith(begins)
            with connect(port) as new:
                assert status(ask(new)) == 200
                assert read_to_end(waiting[oldest]) == b""
            if rest:
                assert status(ask(waiting[3], rest)) == 200
        finally:
            app.go.set()  # or the service never ends
        assert status(read_answer(working)) == 200
        for client in (working, *waiting):
            client.close()


def test_who_does_not_read_an_answer_gives_way_too() -> None:
    with listening(connections=8, trusted_proxies=("*",)) as port:
        clients = [connect(port) for _ in range(8)]
        for client in clients:
            client.sendall(GET.replace(b"/ ", b"/large "))
            assert client.recv(100).startswith(b"HTTP/1.1 200")  # and nothing more is read
        with connect(port) as new:
            assert status(ask(new)) == 200
        for client in clients:
            client.close()


def test_with_every_connection_busy_a_new_one_is_told_to_come_back() -> None:
    app = Echo()
    with listening(app=app, connections=8, trusted_proxies=("127.0.0.0/8",)) as port:
        clients = [busy(port, app) for _ in range(8)]
        answer = exchange(port)

        assert status(answer) == 503
        assert b"retry-after: 1" in answer
        app.go.set()
        for client in clients:
            assert status(read_answer(client)) == 200
            client.close()


def test_one_address_has_a_quarter_of_the_connections_and_gets_them_back() -> None:
    app = Echo()
    with listening(app=app, connections=8) as port:
        clients = [busy(port, app) for _ in range(2)]
        assert status(exchange(port)) == 503
        app.go.set()
        for client in clients:
            assert status(read_answer(client)) == 200
        for client in clients:  # so the first waits longest
            assert status(ask(client)) == 200
        with connect(port) as new:  # whoever of its own waits longest gives way
            assert status(ask(new)) == 200
            assert read_to_end(clients[0]) == b""
        for client in clients:
            client.close()

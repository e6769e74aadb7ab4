"""A server that stops: what was sent is answered, and the last answer says that it is the last."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from screener.server.connection_limiter import ConnectionLimits
from tests.screener.process import until
from tests.screener.server.sockets import (
    BUSY,
    GET,
    LONG,
    POST,
    Echo,
    ask,
    busy,
    connect,
    listens,
    read_answer,
    read_to_end,
    started,
    status,
)

PATIENT = ConnectionLimits(LONG, LONG, LONG, LONG, LONG, LONG, leave_seconds=LONG)
CLOSE = b"connection: close"


@contextmanager
def stoppable(
    app: Echo, bounds: ConnectionLimits = PATIENT
) -> Iterator[tuple[int, Callable[[], None]]]:
    """The port of a server, and what begins its stop."""
    with started(bounds, app) as (port, server):

        def stop() -> None:
            server.should_exit = True
            until(lambda: not listens(port))

        yield port, stop


def test_a_request_that_comes_on_an_open_connection_is_answered_as_its_last() -> None:
    with stoppable(Echo()) as (port, stop), connect(port) as client:
        assert CLOSE not in ask(client)
        stop()

        answer = ask(client, POST + b"hello")

        assert status(answer) == 200
        assert CLOSE in answer
        assert read_to_end(client) == b""


def test_the_rest_of_a_request_is_waited_for() -> None:
    with stoppable(Echo()) as (port, stop), connect(port) as head, connect(port) as body:
        for client in (head, body):
            ask(client)
        head.sendall(GET[:9])
        body.sendall(POST + b"he")
        stop()

        head.sendall(GET[9:])
        body.sendall(b"llo")

        assert CLOSE in read_answer(head)
        assert CLOSE in read_answer(body)


def test_of_several_requests_under_way_each_is_answered() -> None:
    app, bounds = Echo(), replace(PATIENT, leave_seconds=0.1)
    with stoppable(app, bounds) as (port, stop), busy(port, app) as client:
        client.sendall(GET + GET)
        with connect(port) as other:  # what was sent before is read by now
            ask(other)
        stop()
        time.sleep(3 * bounds.tick)  # an answer takes longer than a request on its way may
        app.go.set()

        answers = read_to_end(client).split(b"HTTP/1.1 200")[1:]

    assert [CLOSE in answer for answer in answers] == [False, False, True]


def test_a_connection_without_a_request_is_closed_after_a_moment() -> None:
    bounds = ConnectionLimits(LONG, LONG, LONG, LONG, LONG, LONG, leave_seconds=0.1)
    with stoppable(Echo(), bounds) as (port, stop), connect(port) as new, connect(port) as idle:
        ask(idle)
        stop()

        assert read_to_end(idle) == b""
        assert read_to_end(new) == b""


def test_who_never_ends_a_head_does_not_hold_up_the_stop() -> None:
    bounds = ConnectionLimits(LONG, LONG, LONG, LONG, LONG, 0.1, leave_seconds=0.1)
    with stoppable(Echo(), bounds) as (port, stop), connect(port) as client:
        client.sendall(BUSY[:9])
        with connect(port) as other:  # what was sent before is read by now
            ask(other)
        stop()

        assert status(read_to_end(client)) == 408

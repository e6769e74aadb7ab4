"""Too many at once: idle connections, slow readers and writers, and drawings."""

from __future__ import annotations

import resource
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import psutil

from benchmarks.serving.book import make_market, read_template, seal
from tests.qa.drills.drill import CannotError, Drill
from tests.qa.drills.server import Server
from tests.qa.drills.truth import SCAN, ending
from tests.screener.process import until

IDLE = 10_000
ADDRESSES = 100
"""Of so many loopback addresses each opens a hundred connections."""
SLOW, SLOW_SECONDS = 150, 14
DRAWINGS, SYMBOLS = 100, 180
SPARE = 500
"""Open files of this process beside the connections."""


Opened = Callable[[int], list[socket.socket]]
"""Opens some connections, from many addresses in turn."""


def idle_connections(drill: Drill) -> None:
    """Very many connections from many addresses, none of which says a word."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    number = IDLE if limit == resource.RLIM_INFINITY else min(IDLE, limit - SPARE)
    if number < IDLE // 10:
        raise CannotError(f"the system allows {limit} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (number + SPARE, limit))
    drill.made = f"once, {number:,} connections from {ADDRESSES} addresses to 1 process"

    def wait(opened: Opened, _key: str) -> None:
        sockets = opened(number)
        time.sleep(3)
        ended = sum(map(_is_ended, sockets))
        drill.seen["idle ones gave way"] += ended
        drill.seen["idle ones stayed open"] += number - ended

    _crowded(drill, wait)


def slow_clients(drill: Drill) -> None:
    """Connections that read nothing of large answers, and others that send a byte a second."""
    drill.made = f"once for {SLOW_SECONDS} s, {SLOW} slow readers, {SLOW} slow writers"

    def wait(opened: Opened, key: str) -> None:
        ask = f"GET {SCAN} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {key}\r\n\r\n"
        for one in opened(SLOW):
            one.sendall(ask.encode() * 16)
        writers = opened(SLOW)
        _write_slowly(writers)
        ended = sum(map(_is_ended, writers))
        drill.seen["slow writers ended"] += ended
        drill.check(so=ended == SLOW, wrong=f"{SLOW - ended} slow writers were never ended")

    _crowded(drill, wait)


def _crowded(drill: Drill, wait: Callable[[Opened, str], None]) -> None:
    """Let connections be opened beside an honest caller; in the end all of them are gone."""
    with drill.server().running() as server, ExitStack() as stack:
        key = server.key("slow@example.com")

        def opened(number: int) -> list[socket.socket]:
            return [stack.enter_context(_connection(server, n)) for n in range(number)]

        with drill.honest(server):
            wait(opened, key)
            stack.close()
        until(lambda: _connections(server) < 10)


def _connection(server: Server, number: int) -> socket.socket:
    address = f"127.2.0.{1 + number % ADDRESSES}"
    here = ("127.0.0.1", server.port)
    return socket.create_connection(here, timeout=30, source_address=(address, 0))


def _connections(server: Server) -> int:
    opened = psutil.Process(server.process.pid).net_connections()
    return sum(one.status == psutil.CONN_ESTABLISHED for one in opened)


def _is_ended(one: socket.socket) -> bool:
    one.setblocking(False)
    try:
        while one.recv(65536):
            pass  # words of farewell
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True


def _write_slowly(writers: Sequence[socket.socket]) -> None:
    head = b"GET /api/v1/families HTTP/1.1\r\nHost: slow\r\nX-Slow: " + b"a" * 100
    for at in range(SLOW_SECONDS):
        for one in writers:
            try:
                one.send(head[at : at + 1])
            except OSError:
                continue  # it was ended
        time.sleep(1)


def drawings(drill: Drill) -> None:
    """First charts of different setups, all asked for at once."""
    drill.made = f"once, {DRAWINGS} charts that nobody had asked for before"
    template, data = read_template(drill.data("sample")), drill.folder / "data"
    data.mkdir()
    market = make_market(template, SYMBOLS)
    seal(market, data)
    setups = market.scan[:DRAWINGS]
    with drill.server(data, charts_warm=True).running() as server:
        tracked = tuple(dict.fromkeys(row.symbol for row in setups))
        key = server.key("draws@example.com", tracked)
        asked = [f"/api/v1/tickers/{s.symbol}/chart.png?setup_id={s.setup_id}" for s in setups]

        def draw(path: str) -> str:
            with server.client(key) as client:
                answer = client.get(path)
            is_chart = answer.content.startswith(b"\x89PNG") and answer.content.endswith(b"\x82")
            right = answer.status_code != 200 or is_chart
            drill.check(so=right, wrong="an answer is no chart")
            return ending(answer)

        began = time.monotonic()
        with ThreadPoolExecutor(DRAWINGS) as threads:
            ends = Counter(threads.map(draw, asked))
        drill.notes.append(f"The crowd was served in {time.monotonic() - began:.1f} s")
        drill.seen.update(ends)
        odd = ends.keys() - {"answered", "503 unavailable with Retry-After"}
        drill.wrong += [f"a drawing ended with {one}" for one in odd]
        with drill.timed():
            again = Counter(map(draw, asked))
        right = again == {"answered": DRAWINGS}
        drill.check(so=right, wrong=f"one after the other they ended with {dict(again)}")
        drill.notes.append("Then each chart in turn")

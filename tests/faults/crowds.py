"""Too many at once: idle connections, slow readers and writers, drawings, workers, stops."""

from __future__ import annotations

import os
import random
import resource
import signal
import socket
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from threading import Event, Thread

import httpx

from benchmarks.serving.book import make_market, read_template, seal
from tests.faults.crowd import Crowd
from tests.faults.found import CannotError, Found
from tests.faults.kills import collect
from tests.faults.nights import Nights
from tests.faults.serving import Serving, served
from tests.faults.writers import client_of, ending
from tests.screener.process import until

IDLE = 10_000
ADDRESSES = 100
"""Of so many loopback addresses each opens a hundred connections."""
SLOW, SLOW_SECONDS = 150, 14.0
DRAWINGS, SYMBOLS = 100, 180
STORM_SECONDS, STOPS = 8.0, 3
SPARE = 500
"""Open files of this process beside the connections."""


class Honest:
    """Somebody who calls all the time, from an address of their own, and notes how long it took."""

    def __init__(self, serving: Serving, nights: Nights, found: Found, key: str) -> None:
        self._client = client_of(serving, key)
        self._truth = nights.truth
        self._found = found
        self._over = Event()
        self._thread = Thread(target=self._call)
        self.slowest = 0.0
        self.calls = 0

    def __enter__(self) -> Honest:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._found.notes.append(
            f"{self.calls} honest calls meanwhile, the slowest took {self.slowest * 1000:.0f} ms"
        )

    def _call(self) -> None:
        path = "/api/v1/tickers/MSFT/patterns"
        while not self._over.wait(0.05):
            began = time.monotonic()
            try:
                answer = self._client.get(path)
            except httpx.TransportError as error:
                self._found.wrong.append(f"an honest call was refused ({type(error).__name__})")
                continue
            self.calls += 1
            self.slowest = max(self.slowest, time.monotonic() - began)
            self._found.seen[f"honest {ending(answer)}"] += 1
            if answer.status_code != 200:
                self._found.wrong.append(f"an honest call ended with {answer.status_code}")
            elif wrong := self._truth.wrong(path, answer.content):
                self._found.wrong.append(wrong)


def idle(folder: Path, nights: Nights) -> Found:
    """Very many connections from many addresses, none of which says a word."""
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    number = IDLE if limit == resource.RLIM_INFINITY else min(IDLE, limit - SPARE)
    if number < IDLE // 10:
        raise CannotError(f"the system allows {limit} open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (number + SPARE, limit))
    found = Found(made=f"once, {number:,} connections from {ADDRESSES} addresses to 1 process")
    with served(nights.copied(folder / "data")) as serving, ExitStack() as stack:
        with Honest(serving, nights, found, serving.key()):
            sockets = [stack.enter_context(_opened(serving, n % ADDRESSES)) for n in range(number)]
            time.sleep(3)
            ended = sum(_is_ended(one) for one in sockets)
            found.seen["idle ones gave way"] += ended
            found.seen["idle ones stayed open"] += number - ended
            stack.close()
        until(lambda: _connections(serving) < 10)
    return found


def _opened(serving: Serving, address: int) -> socket.socket:
    return socket.create_connection(
        ("127.0.0.1", serving.port), timeout=30, source_address=(f"127.2.0.{1 + address}", 0)
    )


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


def _connections(serving: Serving) -> int:
    import psutil

    opened = psutil.Process(serving.pid).net_connections()
    return sum(one.status == psutil.CONN_ESTABLISHED for one in opened)


def slow(folder: Path, nights: Nights) -> Found:
    """Connections that read nothing of large answers, and others that send a byte a second."""
    found = Found(made=f"once for {SLOW_SECONDS:.0f} s, {SLOW} slow readers, {SLOW} slow writers")
    with served(nights.copied(folder / "data")) as serving, ExitStack() as stack:
        key = serving.key("slow@example.com")
        with Honest(serving, nights, found, serving.key()):
            readers = [stack.enter_context(_opened(serving, n % ADDRESSES)) for n in range(SLOW)]
            line = "GET /api/v1/scan?status=all&limit=200 HTTP/1.1\r\nHost: x\r\n"
            ask = f"{line}Authorization: Bearer {key}\r\n\r\n".encode()
            for one in readers:
                one.sendall(ask * 16)
            writers = [stack.enter_context(_opened(serving, n % ADDRESSES)) for n in range(SLOW)]
            _write_slowly(writers, SLOW_SECONDS)
            ended = sum(_is_ended(one) for one in writers)
            found.seen["slow writers ended"] += ended
            if ended < SLOW:
                found.wrong.append(f"{SLOW - ended} slow writers were never ended")
            stack.close()
        until(lambda: _connections(serving) < 10)
    return found


def _write_slowly(writers: list[socket.socket], seconds: float) -> None:
    head = b"GET /api/v1/families HTTP/1.1\r\nHost: slow\r\nX-Slow: " + b"a" * 100
    for at in range(int(seconds)):
        for one in writers:
            try:
                one.send(head[at : at + 1])
            except OSError:
                continue  # it was ended
        time.sleep(1)


def drawings(folder: Path, nights: Nights) -> Found:
    """First charts of different setups, all asked for at once."""
    found = Found(made=f"once, {DRAWINGS} charts that nobody had asked for before")
    data = folder / "data"
    data.mkdir()
    market = make_market(read_template(nights.folder), SYMBOLS)
    seal(market, data)
    setups = [row for row in market.scan if row.symbol][:DRAWINGS]
    with served(data, charts_warm=True) as serving:
        key = _key_that_tracks(serving, [row.symbol for row in setups])
        asked = [f"/api/v1/tickers/{s.symbol}/chart.png?setup_id={s.setup_id}" for s in setups]

        def draw(path: str) -> tuple[str, str]:
            with client_of(serving, key) as client:
                answer = client.get(path)
            is_chart = answer.content.startswith(b"\x89PNG") and answer.content.endswith(b"\x82")
            if answer.status_code == 200 and not is_chart:
                found.wrong.append("an answer is no chart")
            return path, ending(answer)

        began = time.monotonic()
        with ThreadPoolExecutor(DRAWINGS) as threads:
            ends = dict(threads.map(draw, asked))
        found.seen.update(ends.values())
        spent = time.monotonic() - began
        odd = set(ends.values()) - {"answered", "503 unavailable with Retry-After"}
        found.wrong += [f"a drawing ended with {one}" for one in odd]
        began = time.monotonic()
        again = Counter(draw(path)[1] for path in asked)
        found.seconds.append(time.monotonic() - began)
        if again != {"answered": DRAWINGS}:
            found.wrong.append(f"one after the other they ended with {dict(again)}")
        found.notes.append(f"The crowd was served in {spent:.1f} s; then each chart in turn")
    return found


def _key_that_tracks(serving: Serving, symbols: list[str]) -> str:
    from tests.service import new_key

    tracked = tuple(dict.fromkeys(symbols))
    return new_key(serving.chosen, "draws@example.com", tracked=tracked)


def storm(folder: Path, nights: Nights) -> Found:
    """Workers are killed again and again, each as soon as it answers or before."""
    found, moments = Found(), random.Random(11)
    kills = 0
    with served(nights.copied(folder / "data"), workers=3) as serving:
        until(lambda: len(serving.workers()) == 3)
        crowd = Crowd(serving, nights.truth)
        with crowd:
            end = time.monotonic() + STORM_SECONDS
            while time.monotonic() < end:
                for pid in sorted(serving.workers())[1:]:
                    with suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                        kills += 1
                time.sleep(moments.uniform(0.2, 1.0))
            began = time.monotonic()
            until(lambda: len(serving.workers()) == 3, 90)
            until(lambda: all(serving.answers() for _ in range(20)))
            found.seconds.append(time.monotonic() - began)
            if serving.ended():
                found.wrong.append("the service ended")
        collect(found, crowd)
    found.made = f"{kills} kills in {STORM_SECONDS:.0f} s, two of three workers"
    return found


def stops(folder: Path, nights: Nights) -> Found:
    """SIGTERM while requests are under way, then a start: nothing that was begun is cut off."""
    found = Found(made=f"{STOPS} times with 1 process and with 2, during reads and writes")
    for workers in (1, 2):
        serving = Serving(nights.copied(folder / f"data-{workers}"), workers=workers)
        serving.start()
        serving.ready()
        for number in range(STOPS):
            crowd = Crowd(serving, nights.truth, email=f"caller{number}@example.com")
            with crowd:
                time.sleep(1)
                os.kill(serving.pid, signal.SIGTERM)
                code = serving.code(90)
            found.seen[f"exit code {code}"] += 1
            missing = len(crowd.caller.answered) - crowd.caller.stored()
            if missing:
                found.lost.append(f"{missing} usage counts")
            serving.start()
            found.seconds.append(serving.ready())
            collect(found, crowd)
        serving.stop()
    return found

"""Steady requests: readers and writers that go on until they are told to end."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

Request = Callable[[httpx.Client], httpx.Response]


@dataclass
class Load:
    """What came of the requests by now."""

    ends: Counter[str] = field(default_factory=Counter)
    """How often each status, or each failure, came."""
    _enough: threading.Event = field(default_factory=threading.Event)
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def wait_for_more(self, number: int = 50) -> None:
        """Wait until so many more requests have ended."""
        with self._changed:
            wanted = self.ends.total() + number
            assert self._changed.wait_for(lambda: self.ends.total() >= wanted, timeout=60)

    def repeat(self, client: httpx.Client, request: Request) -> None:
        """Send a request again and again."""
        while not self._enough.is_set():
            try:
                answer = request(client)
                end = str(answer.status_code)
                if answer.is_server_error:  # says in which part
                    end += f": {answer.text}"
            except httpx.HTTPError as error:
                end = repr(error)
            with self._changed:
                self.ends[end] += 1
                self._changed.notify_all()

    def end(self) -> None:
        """Let the last requests end."""
        self._enough.set()


@contextmanager
def under_load(client: Callable[[], httpx.Client], *requests: Request) -> Iterator[Load]:
    """Two clients for each request send it within the block; all have ended after it."""
    load = Load()
    with ThreadPoolExecutor(2 * len(requests)) as executor:
        clients = [client() for _ in range(2 * len(requests))]
        runs = [
            executor.submit(load.repeat, each, request)
            for each, request in zip(clients, requests * 2, strict=True)
        ]
        try:
            yield load
        finally:
            load.end()
            for run in runs:
                run.result(timeout=120)
            for each in clients:
                each.close()

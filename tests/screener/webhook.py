"""A web hook that takes messages as JSON, refuses them, or lets who sends them wait."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from queue import Queue
from threading import Event
from typing import Any

from tests.screener.local_server import Quiet, answering

SECRET = "Zq7s3cr3tT0k3nXw"


@dataclass
class Webhook:
    """What a running hook is at, and what it got."""

    host: str
    messages: Queue[dict[str, Any]] = field(default_factory=Queue)
    on_message: Callable[[], None] = lambda: None
    ended: Event = field(default_factory=Event)

    def address(self, how: str = "ok", more: str = "") -> str:
        """An address with a secret wherever it may have one: `ok`, `refuse`, `wait` or `drip`."""
        return f"json://me:{SECRET}@{self.host}/{how}/{SECRET}?-token={SECRET}{more}"

    def got(self) -> list[dict[str, Any]]:
        """The messages since the last look."""
        return [self.messages.get() for _ in range(self.messages.qsize())]


@contextmanager
def listening() -> Iterator[Webhook]:
    """A hook on loopback within the block."""

    class Hook(Quiet, BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            how = self.path.split("/")[1]
            if how == "wait":
                hook.ended.wait()
            elif how == "drip":
                self._drip()
            else:
                self.send_response(500 if how == "refuse" else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()
                if how == "ok":
                    hook.on_message()
                    hook.messages.put(message)

        def _drip(self) -> None:
            """Answer a byte now and then, so that no limit of a single read ends it."""
            self.send_response(200)
            self.flush_headers()
            while not hook.ended.wait(0.5):
                self.wfile.write(b"X-More: more\r\n")

    with answering(Hook) as server:
        hook = Webhook(f"127.0.0.1:{server.server_port}")
        try:
            yield hook
        finally:
            hook.ended.set()

"""Pages: the last scan answers, kept by night and query."""

from __future__ import annotations

from collections import OrderedDict

KEPT_BYTES = 16 * 1024 * 1024
"""All kept answers together; one of 50 rows is about 120 KB."""


class Pages:
    """The last answers by night and query: a short cache that needs no expiry."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._room = kept_bytes
        self._bodies: OrderedDict[object, bytes] = OrderedDict()

    def get(self, key: object) -> bytes | None:
        """A kept body."""
        body = self._bodies.get(key)
        if body is not None:
            self._bodies.move_to_end(key)
        return body

    def put(self, key: object, body: bytes) -> None:
        """Keep a body, forgetting those used longest ago."""
        self._bodies[key] = body
        self._room -= len(body)
        while self._room < 0:
            self._room += len(self._bodies.popitem(last=False)[1])

"""Requests: bodies up to a bound, and the fields that state what a client accepts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mcp_server.http.requests import (
    MAX_BODY,
    MAX_DRAINED,
    BodyError,
    Origins,
    accepts_json,
    names_etag,
    prefers_html,
    prefers_markdown,
    read_body,
)


class Client:
    """The `receive` of a request, as an ASGI server provides it."""

    def __init__(self, *pieces: bytes, stays: bool = True) -> None:
        self._pieces = list(pieces)
        self._stays = stays
        self.received = 0

    async def receive(self) -> dict[str, Any]:
        if not self._pieces:
            assert not self._stays
            return {"type": "http.disconnect"}
        piece = self._pieces.pop(0)
        self.received += len(piece)
        more = bool(self._pieces) or not self._stays
        return {"type": "http.request", "body": piece, "more_body": more}


def test_of_an_endless_accept_field_only_the_beginning_is_read() -> None:
    many = b"text/plain, " * 5000

    assert accepts_json(b"application/json;q=1, " + many)
    assert not accepts_json(many + b"application/json")


@pytest.mark.parametrize("pieces", [(b"one ", b"two", b""), (b"x" * MAX_BODY,)])
async def test_a_body_is_read_whole_up_to_its_bound(pieces: tuple[bytes, ...]) -> None:
    assert await read_body(Client(*pieces).receive) == b"".join(pieces)


async def test_a_body_that_is_too_large_is_received_before_it_is_refused() -> None:
    client = Client(b"x" * MAX_BODY, b"x", b"rest")

    with pytest.raises(BodyError, match="is over 64 KB"):
        await read_body(client.receive)

    assert client.received == MAX_BODY + 5


async def test_an_endless_body_is_not_received_for_ever() -> None:
    piece = b"x" * (1024 * 1024)
    client = Client(*[piece] * 100)

    with pytest.raises(BodyError, match="is over 64 KB"):
        await read_body(client.receive)

    assert client.received <= MAX_DRAINED + 2 * len(piece)


@pytest.mark.parametrize("pieces", [(), (b"half",)])
async def test_a_client_that_goes_away_is_told_apart_from_one_that_ends(
    pieces: tuple[bytes, ...],
) -> None:
    with pytest.raises(BodyError, match="was not sent completely"):
        await read_body(Client(*pieces, stays=False).receive)


FIELDS: dict[Callable[[bytes], bool], list[tuple[bytes, bool]]] = {
    accepts_json: [
        (b"", True),
        (b"application/json, text/event-stream", True),
        (b"text/event-stream, application/json;q=0.5", True),
        (b"*/*", True),
        (b"application/*;q=0.1", True),
        (b"text/html, */*;q=0.1", True),
        (b"text/event-stream", False),
        (b"text/html;q=1, application/json;q=0, */*", False),
    ],
    prefers_html: [
        (b"text/html,application/xhtml+xml,*/*;q=0.8", True),
        (b"TEXT/HTML", True),
        (b"application/json, text/html", True),
        (b"application/json, text/html;q=0.5", False),
        (b"text/html;level=1;q=0.4, application/json;q=0.3", True),
        (b"text/html;q=high", False),
        (b"text/*", False),
        (b",;,;q=", False),
    ],
    prefers_markdown: [
        (b"text/markdown", True),
        (b"text/markdown, text/html, */*", True),
        (b"text/html;q=0.5, text/markdown;q=0.7", True),
        (b"text/html, text/markdown;q=0.9", False),
        (b"text/markdown;q=0", False),
        (b"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", False),
        (b"*/*", False),
        (b"text/*", False),
        (b"", False),
    ],
    lambda known: names_etag(known, b'"a"'): [
        *((known, True) for known in (b'"a"', b'W/"a"', b'"b", "a"', b"*")),
        *((known, False) for known in (b'"b"', b"a", b"")),
    ],
}
"""JSON by its name or a range; HTML unless JSON weighs more; Markdown named, unless HTML weighs
more; a tag alone, in a list or by a star.
"""


@pytest.mark.parametrize(
    ("says", "field", "expected"),
    [(says, *row) for says, rows in FIELDS.items() for row in rows],
)
def test_a_field_says_what_a_client_takes_or_has(
    says: Callable[[bytes], bool], field: bytes, expected: bool
) -> None:
    assert says(field) is expected


def test_an_origin_with_any_port_is_one_of_that_name_alone() -> None:
    origins = Origins(["127.0.0.1:*", "example.com"], ["http://localhost:*"])

    assert origins.knows_host(b"127.0.0.1:8000")
    assert not origins.knows_host(b"127.0.0.1:80x")
    assert origins.knows_host(b"127.0.0.1")
    assert not origins.knows_host(b"127.0.0.1.example.com")
    assert not origins.knows_host(b"example.com:8000")
    assert origins.knows_host(b"EXAMPLE.com")
    assert origins.admits(b"http://localhost:3000", b"example.com")
    assert not origins.admits(b"https://localhost:3000", b"example.com")


@pytest.mark.parametrize(
    ("host", "harmless"),
    [
        *((name, True) for name in (b"localhost", b"LOCALHOST:9", b"10.1.2.3", b"[fd00::1]:80")),
        *((name, True) for name in (b"Screener:9464", b"example.com")),
        *((name, False) for name in (b"screener:1", b"evil.example", b"localhost.evil.example")),
        *((name, False) for name in (b"127.0.0.1.evil.example", b"1.2.3", b"")),
    ],
)
def test_a_number_or_a_known_name_is_in_no_strangers_power(host: bytes, harmless: bool) -> None:
    origins = Origins(["screener:9464", "Example.com"], [])

    assert origins.is_harmless(host) is harmless

"""Requests: bodies up to a bound, and the fields that state what a client accepts."""

from __future__ import annotations

from typing import Any

import pytest

from mcp_server.http.requests import (
    MAX_BODY,
    MAX_DRAINED,
    BodyTooLargeError,
    DisconnectedError,
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


async def test_a_body_in_pieces_is_read_whole() -> None:
    assert await read_body(Client(b"one ", b"two", b"").receive) == b"one two"


async def test_a_body_of_just_the_most_bytes_is_read() -> None:
    assert len(await read_body(Client(b"x" * MAX_BODY).receive)) == MAX_BODY


async def test_a_body_that_is_too_large_is_received_before_it_is_refused() -> None:
    client = Client(b"x" * MAX_BODY, b"x", b"rest")

    with pytest.raises(BodyTooLargeError):
        await read_body(client.receive)

    assert client.received == MAX_BODY + 5


async def test_an_endless_body_is_not_received_for_ever() -> None:
    piece = b"x" * (1024 * 1024)
    client = Client(*[piece] * 100)

    with pytest.raises(BodyTooLargeError):
        await read_body(client.receive)

    assert client.received <= MAX_DRAINED + 2 * len(piece)


@pytest.mark.parametrize("pieces", [(), (b"half",)])
async def test_a_client_that_goes_away_is_told_apart_from_one_that_ends(
    pieces: tuple[bytes, ...],
) -> None:
    with pytest.raises(DisconnectedError):
        await read_body(Client(*pieces, stays=False).receive)


@pytest.mark.parametrize(
    ("accept", "taken"),
    [
        (b"", True),
        (b"application/json, text/event-stream", True),
        (b"text/event-stream, application/json;q=0.5", True),
        (b"*/*", True),
        (b"application/*;q=0.1", True),
        (b"text/html, */*;q=0.1", True),
        (b"text/event-stream", False),
        (b"text/html;q=1, application/json;q=0, */*", False),
    ],
)
def test_json_is_accepted_by_name_or_by_a_range(accept: bytes, taken: bool) -> None:
    assert accepts_json(accept) is taken


@pytest.mark.parametrize(
    ("accept", "prefers"),
    [
        (b"text/html,application/xhtml+xml,*/*;q=0.8", True),
        (b"TEXT/HTML", True),
        (b"application/json, text/html", True),
        (b"application/json, text/html;q=0.5", False),
        (b"text/html;level=1;q=0.4, application/json;q=0.3", True),
        (b"text/html;q=high", False),
        (b"text/*", False),
        (b",;,;q=", False),
    ],
)
def test_html_is_preferred_by_its_name_and_a_weight_that_json_does_not_pass(
    accept: bytes, prefers: bool
) -> None:
    assert prefers_html(accept) is prefers


@pytest.mark.parametrize(
    ("known", "named"),
    [
        (b'"a"', True),
        (b'W/"a"', True),
        (b'"b", "a"', True),
        (b"*", True),
        (b'"b"', False),
        (b"a", False),
        (b"", False),
    ],
)
def test_an_etag_is_named_alone_in_a_list_or_by_a_star(known: bytes, named: bool) -> None:
    assert names_etag(known, b'"a"') is named


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


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
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
)
def test_markdown_is_sent_to_who_names_it_and_does_not_weigh_html_more(
    accept: bytes, wanted: bool
) -> None:
    assert prefers_markdown(accept) is wanted

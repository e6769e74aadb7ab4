"""The service's HTTP protocol says byte for byte what uvicorn's own would say."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service import Service, copy_night, serving

REQUESTS = {
    "a stored answer": "GET /api/v1/tickers/AAPL/patterns HTTP/1.1\r\n{key}\r\n",
    "a large one, compressed": (
        "GET /api/v1/tickers/AAPL/history HTTP/1.1\r\n{key}Accept-Encoding: gzip\r\n\r\n"
    ),
    "one that the client has": (
        "GET /api/v1/tickers/AAPL/patterns HTTP/1.1\r\n{key}If-None-Match: *\r\n\r\n"
    ),
    "only the head": "HEAD /api/v1/tickers/AAPL/patterns HTTP/1.1\r\n{key}\r\n",
    "a refusal": "GET /api/v1/tickers/FB/patterns HTTP/1.1\r\n{key}\r\n",
    "a wrong key": "GET /api/v1/me HTTP/1.1\r\nAuthorization: Bearer x\r\n\r\n",
    "a wrong method": "DELETE /api/v1/me HTTP/1.1\r\n{key}\r\n",
    "an unknown address": "GET /api/v1/nothing HTTP/1.1\r\n\r\n",
    "a tool call": (
        "POST /mcp HTTP/1.1\r\n{key}Host: 127.0.0.1:1\r\nContent-Type: application/json\r\n"
        'Content-Length: 58\r\n\r\n{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{}}}}'
    ),
    "no JSON-RPC": (
        "POST /mcp HTTP/1.1\r\n{key}Host: 127.0.0.1:1\r\nContent-Type: text/plain\r\n"
        "Content-Length: 1\r\n\r\nx"
    ),
    "the earlier HTTP": "GET /api/v1/families HTTP/1.0\r\n{key}\r\n",
    "the end of a connection": "GET /api/v1/families HTTP/1.1\r\n{key}Connection: close\r\n\r\n",
    "two at once": (
        "GET /api/v1/families HTTP/1.1\r\n{key}\r\nGET /api/v1/universe HTTP/1.1\r\n{key}\r\n"
    ),
}

LAST = "GET /nothing HTTP/1.1\r\nConnection: close\r\n\r\n"
"""Sent after each request, so that the connection ends."""


@pytest.fixture(scope="module")
def services(
    night: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Service, Service]]:
    """The service as it serves, and the same behind uvicorn's own protocol."""
    folders = [tmp_path_factory.mktemp(name) for name in ("own", "plain")]
    for folder in folders:
        copy_night(night, folder)
    with serving(folders[0]) as own, serving(folders[1], http="httptools") as plain:
        yield own, plain


def said(service: Service, request: str) -> bytes:
    """All that a connection says, without what differs by the moment."""
    host, port = service.url.removeprefix("http://").split(":")
    key = f"Authorization: Bearer {service.key}\r\n"
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall((request.format(key=key) + LAST).encode())
        found = b"".join(iter(lambda: connection.recv(65_536), b""))
    found = re.sub(rb"(?m)^(date|ratelimit): .*\r$", rb"\1", found)
    return found.replace(service.url.encode(), b"http://service")


@pytest.mark.parametrize("name", REQUESTS)
def test_a_connection_is_told_the_same(services: tuple[Service, Service], name: str) -> None:
    own, plain = services

    answer, again = said(own, REQUESTS[name]), said(own, REQUESTS[name])

    assert answer == again == said(plain, REQUESTS[name])
    closes = name in ("the earlier HTTP", "the end of a connection")
    assert answer.count(b"HTTP/1.1 ") == (1 if closes else 3 if name == "two at once" else 2)

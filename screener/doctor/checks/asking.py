"""Asking: requests of the doctor, each bounded in time and bytes; no redirect is followed."""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from threading import Thread
from typing import Final, NamedTuple, TypeVar
from urllib.parse import urlsplit

SECONDS: Final = 5.0
"""For each step of a request."""

REQUEST_SECONDS: Final = 10.0
"""For a whole request, however often a byte of its answer comes."""

MOST_BYTES: Final = 65_536

OTHER_LOOPBACK: Final = "127.0.0.2"
"""From which a proxy on loopback is asked: its own address is one that the service trusts."""


T = TypeVar("T")


class Said(NamedTuple):
    """An answer; of one that streams, the seconds between its first and its last line."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes
    source: str
    """The address that was asked from."""
    seconds: float


@contextmanager
def connected(url: str, *, apart: bool = False) -> Iterator[http.client.HTTPConnection]:
    """A connection to an address; `apart` from one of loopback of its own, if it leads there.

    Raises:
        OSError: it cannot be reached, or its certificate is not valid.
        ValueError: the address is none.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is not an address; write https://screener.example.com")
    source = (OTHER_LOOPBACK, 0) if apart and _is_on_loopback(parts.hostname) else None
    if parts.scheme == "https":
        made: http.client.HTTPConnection = http.client.HTTPSConnection(
            parts.hostname,
            parts.port,
            timeout=SECONDS,
            source_address=source,
            context=ssl.create_default_context(),
        )
    else:
        made = http.client.HTTPConnection(
            parts.hostname, parts.port, timeout=SECONDS, source_address=source
        )
    try:
        made.connect()
        yield made
    finally:
        made.close()


def _is_on_loopback(host: str) -> bool:
    if sys.platform != "linux":  # elsewhere loopback has one address
        return False
    found = socket.getaddrinfo(host, None, socket.AF_INET, socket.SOCK_STREAM)
    return any(ipaddress.ip_address(address[0]).is_loopback for *_, address in found)


def ask(
    url: str,
    path: str,
    *,
    method: str = "GET",
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    apart: bool = False,
    seconds: float = REQUEST_SECONDS,
) -> Said:
    """The answer to one request.

    Raises:
        OSError, ValueError: as for `connected`, and it took longer than a request may.
        http.client.HTTPException: what came is no answer in HTTP.
    """

    def answer() -> Said:
        with connected(url, apart=apart) as connection:
            source = connection.sock.getsockname()[0]
            connection.request(method, path, body=body, headers=dict(headers or {}))
            response = connection.getresponse()
            first = response.readline(MOST_BYTES)
            began = time.monotonic()
            rest = response.read(MOST_BYTES)
            took = time.monotonic() - began
            return Said(response.status, response.headers, first + rest, source, took)

    return within(seconds, answer)


def within(seconds: float, work: Callable[[], T]) -> T:
    """What some work gives, or raises; it is left behind if it takes longer.

    A name server, a handshake and an answer that trickles have no timeout of their own.

    Raises:
        TimeoutError: it took longer.
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as error:
            done.set_exception(error)

    Thread(target=run, daemon=True).start()  # which the end of the process does not wait for
    return done.result(max(0.0, seconds))

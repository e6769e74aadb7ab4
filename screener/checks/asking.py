"""Asking: requests of the doctor, each bounded in time and bytes; no redirect is followed."""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NamedTuple
from urllib.parse import urlsplit

SECONDS: Final = 5.0
"""For each step of a request."""

MOST_BYTES: Final = 65_536

OTHER_LOOPBACK: Final = "127.0.0.2"
"""From which a proxy on loopback is asked: its own address is one that the service trusts."""


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
        raise ValueError(f"{url!r} is no address; write https://screener.example.com")
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
) -> Said:
    """The answer to one request.

    Raises:
        OSError, ValueError: as for `connected`.
        http.client.HTTPException: what came is no answer in HTTP.
    """
    with connected(url, apart=apart) as connection:
        source = connection.sock.getsockname()[0]
        connection.request(method, path, body=body, headers=dict(headers or {}))
        response = connection.getresponse()
        first = response.readline(MOST_BYTES)
        began = time.monotonic()
        rest = response.read(MOST_BYTES)
        return Said(
            response.status, response.headers, first + rest, source, time.monotonic() - began
        )

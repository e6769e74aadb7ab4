"""Fetching: reads a small JSON document, safely, from an address that a stranger chose.

Only https is used, and only to addresses on the public Internet: the name is resolved once, every
address is checked, and the connection goes to a checked address. Redirects, encodings and any other
response than a plain document are refused. Size, time and the number of fetches at once are
bounded. What the document means is decided elsewhere.
"""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import anyio
import anyio.lowlevel
import httpcore2

from oauth.addresses import is_public

MAX_BYTES = 5 * 1024
MAX_RECEIVED = MAX_BYTES + 16 * 1024
"""Most bytes of a whole response: the document, its head, and what announces them."""
PIECE = 4 * 1024
"""Most bytes that are parsed before other work gets its turn."""
SECONDS = 5.0
"""Time for a whole fetch, from its place in the queue to the last byte."""
ATTEMPTS, ATTEMPT_SECONDS = 3, 1.5
"""How many addresses of a host are tried, and for how long each."""
AT_ONCE = 8
"""Fetches under way; others wait for a place, within their own time."""
NETWORK_SHARE = AT_ONCE // 4
"""How many of them one network may have, so that slow servers of one person stop nobody else."""

HEADERS = (
    ("Accept", "application/json"),
    ("Accept-Encoding", "identity"),
    ("Connection", "close"),
    ("User-Agent", "pattern-screener"),
)
JSON_TYPE = re.compile(r"application/(?:[a-z0-9!#$&^_.-]+\+)?json")

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host, given with its port."""


class FetchError(Exception):
    """A document cannot be read; the text says why, and reveals nothing about this network."""


class Document(NamedTuple):
    """The document at an address."""

    body: bytes
    max_age: int | None
    """Seconds for which it may be kept (RFC 9111); None if the response does not say."""


class Resolver:
    """The system's resolver, in a few threads of its own so that slow names block nothing else."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(AT_ONCE, "resolver")

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        entries = await asyncio.get_running_loop().run_in_executor(
            self._threads, lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        )
        return [str(entry[4][0]) for entry in entries]


class PublicBackend(httpcore2.AsyncNetworkBackend):
    """Connects only to hosts on the public Internet, and to the very address that was checked."""

    def __init__(self, resolve: Resolve, backend: httpcore2.AsyncNetworkBackend) -> None:
        self._resolve = resolve
        self._backend = backend

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - httpcore2's interface
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        for address in (await self._addresses(host, port))[:ATTEMPTS]:
            try:
                stream = await self._backend.connect_tcp(
                    address, port, timeout or ATTEMPT_SECONDS, local_address, socket_options
                )
                return BoundedStream(stream)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        raise httpcore2.ConnectError("No address answers.")

    async def _addresses(self, host: str, port: int) -> Sequence[str]:
        try:
            addresses = await self._resolve(host, port)
        except OSError:
            addresses = ()
        # One message for both cases, so that nobody learns which private names exist.
        if not addresses or not all(map(is_public, addresses)):
            raise FetchError("its host has no address, or one that is not public")
        return addresses


class BoundedStream(httpcore2.AsyncNetworkStream):
    """A connection that gives few bytes at a time, and not many in all.

    httpcore bounds neither the interim responses before the one that counts nor how finely a body
    is cut, so a fast server could keep the parser, and with it the whole service, busy until the
    time is up.
    """

    def __init__(self, stream: httpcore2.AsyncNetworkStream) -> None:
        self._stream = stream
        self._left = MAX_RECEIVED

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        await anyio.lowlevel.checkpoint()
        received = await self._stream.read(min(max_bytes, PIECE), timeout)
        self._left -= len(received)
        if self._left < 0:
            raise FetchError(f"its response is over {MAX_RECEIVED // 1024} KB")
        return received

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109
    ) -> httpcore2.AsyncNetworkStream:
        try:
            stream = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        except BaseException:
            # httpcore leaves a connection open whose handshake the end of the time interrupts.
            with anyio.CancelScope(shield=True):
                await self.aclose()
            raise
        return BoundedStream(stream)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - httpcore2's interface
        return self._stream.get_extra_info(info)


class Fetcher:
    """Reads documents; the resolver and the network backend are passed in."""

    def __init__(
        self,
        resolve: Resolve,
        backend: httpcore2.AsyncNetworkBackend | None = None,
        tls: ssl.SSLContext | None = None,
        *,
        seconds: float = SECONDS,
    ) -> None:
        self._backend = PublicBackend(resolve, backend or httpcore2.AnyIOBackend())
        self._tls = tls
        self._seconds = seconds
        self._places = anyio.CapacityLimiter(AT_ONCE)

    async def read(self, url: str) -> Document:
        """The document at an https address.

        Raises:
            FetchError: it cannot be read, or its response is not acceptable.
        """
        try:
            with anyio.fail_after(self._seconds):
                async with self._places:
                    return await self._read(url)
        except (TimeoutError, httpcore2.TimeoutException) as error:
            raise FetchError(f"it did not arrive within {self._seconds:g} seconds") from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError) as error:
            raise FetchError("its server does not answer over https as it should") from error

    async def _read(self, url: str) -> Document:
        address = _parsed(url)
        # Only now: all authorities of the Internet take 2 MB.
        self._tls = self._tls or httpcore2.default_ssl_context()
        connection = httpcore2.AsyncHTTPConnection(
            address.origin, ssl_context=self._tls, network_backend=self._backend
        )
        async with connection, connection.stream("GET", address, headers=HEADERS) as response:
            _check(response)
            body = bytearray()
            async for piece in response.aiter_stream():
                body += piece
                if len(body) > MAX_BYTES:
                    raise FetchError(f"it is over {MAX_BYTES // 1024} KB")
            return Document(bytes(body), _max_age(response))


def _parsed(url: str) -> httpcore2.URL:
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname:
        raise FetchError("its address is not https")
    # httpcore's own parser would drop what follows a semicolon.
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return httpcore2.URL(scheme="https", host=parts.hostname, port=parts.port, target=target)


def _check(response: httpcore2.Response) -> None:
    """Refuse any response but a plain JSON document, before its body is read."""
    if response.status != 200:
        raise FetchError(f"its server answers with status {response.status} instead of 200")
    kinds = _values(response, b"content-type")
    if len(kinds) != 1 or not JSON_TYPE.fullmatch(kinds[0].partition(";")[0].strip()):
        raise FetchError("its content type is not application/json")
    if any(coding.strip() != "identity" for coding in _values(response, b"content-encoding")):
        raise FetchError("it is compressed, which was not requested")


def _max_age(response: httpcore2.Response) -> int | None:
    """The max-age of Cache-Control in seconds; 0 if it forbids keeping, None if not stated."""
    directives = ",".join(_values(response, b"cache-control")).replace(" ", "").split(",")
    if "no-store" in directives or "no-cache" in directives:
        return 0
    ages = [d.partition("=")[2].strip('"') for d in directives if d.startswith("max-age=")]
    # Nine digits are 31 years; a longer number is a mistake and is ignored.
    stated = [int(age) for age in ages if re.fullmatch(r"[0-9]{1,9}", age)]
    return min(stated) if stated else None


def _values(response: httpcore2.Response, name: bytes) -> list[str]:
    """The values of a header field, in lower case."""
    return [
        value.decode("latin-1").lower()
        for field, value in response.headers
        if field.lower() == name
    ]

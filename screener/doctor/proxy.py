"""Proxy: what arrives at a running service of a request to its public address."""

from __future__ import annotations

import os
import ssl
import sys
from collections.abc import Iterator
from typing import Final, NamedTuple
from urllib.parse import urlsplit

import anyio
import httpcore2
from pydantic import ValidationError

from screener.doctor.result import CheckResult, fault, ok, warning
from screener.service.proxy_echo import FIELD, PATH, Arrived, token
from screener.settings.setting_types import is_loopback, is_trusted
from screener.settings.settings import Settings

FORGED: Final = "192.0.2.77"
"""An address of documentation (RFC 5737), from which no request can come."""

MAX_BYTES: Final = 65_536
"""The most bytes of a response."""

SECONDS: Final = 30.0
"""For which all requests may take, however often a byte of an answer comes."""

TRIES: Final = 16
"""Requests until a balancer of several servers has led to the one of this data folder."""

OTHER_LOOPBACK: Final = "127.0.0.2"
"""From which a proxy on loopback is asked: its own address is one that the service trusts."""


class Reply(NamedTuple):
    """An answer."""

    status: int
    body: bytes
    source: str
    """The address that was asked from."""


def proxy(chosen: Settings, url: str, seconds: float = SECONDS) -> Iterator[CheckResult]:
    """Ask the service of this data folder through the proxy at an address."""
    url = url.rstrip("/")
    try:
        with token(chosen.data_dir) as secret:
            tries = TRIES if chosen.nights_url else 1
            reply = anyio.run(_ask, url, secret, tries, seconds)
    except (OSError, ValueError, httpcore2.UnsupportedProtocol) as error:
        yield fault("service", f"{url} cannot be reached: {_reason(error)}.")
    except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
        yield _unreached(url, error)
    else:
        yield from _judged(chosen, url, reply)


async def _ask(url: str, secret: str, tries: int, seconds: float) -> Reply:
    """The answer of the service; another server of this store answers 404, then it asks again."""
    with anyio.fail_after(seconds):
        async with httpcore2.AsyncConnectionPool(
            ssl_context=ssl.create_default_context(),
            max_keepalive_connections=0,  # so that a balancer chooses anew
            local_address=await _local_address(url),
        ) as pool:
            for _ in range(tries):
                reply = await _ask_once(pool, url, secret)
                if reply.status != 404:
                    break
    return reply


async def _ask_once(pool: httpcore2.AsyncConnectionPool, url: str, secret: str) -> Reply:
    headers = [(FIELD, secret), ("X-Forwarded-For", FORGED), ("X-Forwarded-Proto", "gopher")]
    async with pool.stream("POST", f"{url}{PATH}", headers=headers) as response:
        source, _port = response.extensions["network_stream"].get_extra_info("client_addr")[:2]
        body = b""
        async for part in response.aiter_stream():
            body += part
            if len(body) > MAX_BYTES:
                break
    return Reply(response.status, body, source)


async def _local_address(url: str) -> str | None:
    """From where to ask: of one that leads to loopback, an address there that is no proxy's."""
    host = urlsplit(url).hostname
    if sys.platform != "linux" or not host:  # elsewhere loopback has one address
        return None
    addresses = [address[0] for *_, address in await anyio.getaddrinfo(host, None)]
    return OTHER_LOOPBACK if any(map(is_loopback, addresses)) else None


def _unreached(url: str, error: Exception) -> CheckResult:
    cause = error.__context__ or error  # httpcore hides it as the cause
    if isinstance(cause, ssl.SSLCertVerificationError):
        words = f"the certificate of {url} is not valid: {cause.verify_message}."
        return fault("TLS", words)
    # What anyio raises in the place of the system's error has no words.
    return fault("service", f"{url} cannot be reached: {_reason(cause.__cause__ or cause)}.")


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "it does not answer in time"
    if isinstance(error, ConnectionError) and error.errno:  # asyncio has other words
        return os.strerror(error.errno)
    return str(getattr(error, "strerror", None) or str(error) or "it ends the connection").rstrip(
        "."
    )


def _judged(chosen: Settings, url: str, reply: Reply) -> Iterator[CheckResult]:
    try:
        arrived = Arrived.model_validate_json(reply.body)
    except ValidationError:
        arrived = None
    if reply.status != 200 or arrived is None:
        yield fault(
            "service",
            f"{url} answers {reply.status} and not as the service of this data folder; is it "
            "started, with the same SCREENER_DATA_DIR, and does the proxy pass every path and "
            "method?",
        )
    else:
        yield ok("service", f"{url} leads to the service of this data folder")
        yield _public_address(chosen, url)
        yield _client(chosen, arrived, reply.source)
        yield _scheme(url, arrived)
        yield _host(url, arrived)


def _public_address(chosen: Settings, url: str) -> CheckResult:
    if chosen.url != url.lower():
        return warning("public address", f"links name {chosen.url}; set SCREENER_PUBLIC_URL={url}")
    return ok("public address", url)


def _client(chosen: Settings, arrived: Arrived, source: str) -> CheckResult:
    """Whether the service knows callers apart, and by what the proxy says."""
    name, client = "X-Forwarded-For", arrived.client
    came = [part.strip() for field in arrived.forwarded_for for part in field.split(",")]
    if client == FORGED:
        if came and came[-1] != FORGED and is_trusted(came[-1], chosen.trusted_proxies):
            return warning(
                name,
                f"this machine asks from {came[-1]}, which SCREENER_TRUSTED_PROXIES has, so its "
                "callers cannot be told apart; narrow it to the addresses of the proxies.",
            )
        return fault(
            name,
            "what callers write is believed, so any caller can pose as another; let the proxy "
            "replace it, and list only the addresses of proxies in SCREENER_TRUSTED_PROXIES.",
        )
    if client == source or came[-1:] == [client]:
        return ok(name, f"callers are told apart ({client}), and no forged one is believed")
    if not came or came == [FORGED]:
        how = "proxy_set_header X-Forwarded-For $remote_addr"
        return fault(name, f"does not arrive; let the proxy set it ({how}).")
    words = "arrives but is not believed: all callers are"
    return fault(name, f"{words} {client}; SCREENER_TRUSTED_PROXIES={client}")


def _scheme(url: str, arrived: Arrived) -> CheckResult:
    wanted, came = urlsplit(url).scheme, ",".join(arrived.forwarded_proto)
    if arrived.scheme == wanted:
        return ok("X-Forwarded-Proto", wanted)
    return fault(
        "X-Forwarded-Proto",
        f"{came or 'nothing'} arrives, and the service takes the call for {arrived.scheme}; let "
        "the proxy set it (proxy_set_header X-Forwarded-Proto $scheme) and name it in "
        "SCREENER_TRUSTED_PROXIES.",
    )


def _host(url: str, arrived: Arrived) -> CheckResult:
    wanted = urlsplit(url).netloc
    if str(arrived.host).lower() == wanted.lower():
        return ok("Host", wanted)
    how = "proxy_set_header Host $http_host"
    return fault(
        "Host", f"{arrived.host} arrives instead of {wanted}; let the proxy keep it ({how})."
    )

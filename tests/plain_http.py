"""Requests of the tests load no certificates, which took longer than the requests themselves.

What they ask speaks no TLS, or its authority is given.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator

import httpx
import httpx2
import pytest

TRANSPORTS = (
    httpx.HTTPTransport,
    httpx.AsyncHTTPTransport,
    httpx2.HTTPTransport,
    httpx2.AsyncHTTPTransport,
)


@pytest.fixture(scope="session", autouse=True)
def plain_http() -> Iterator[None]:
    """A client that names no authority trusts nobody, so it reaches no https of the Internet."""
    nobody = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with pytest.MonkeyPatch.context() as patch:
        for transport in TRANSPORTS:
            patch.setattr(transport, "__init__", _given(transport, nobody))
        yield


def _given(transport: type, context: ssl.SSLContext) -> object:
    made = transport.__init__  # type: ignore[misc]

    def init(self: object, verify: object = True, *rest: object, **options: object) -> None:
        made(self, context if verify is True else verify, *rest, **options)

    return init

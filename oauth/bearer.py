"""Bearer: finds out who is calling and puts a `Caller` on the ASGI scope.

A credential counts only in the Authorization header (RFC 6750 section 2.1). The middleware never
refuses a call: each surface answers a bad credential in its own way.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable

from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_server.callers import Caller
from mcp_server.limits import address_bucket
from store.errors import DatabaseBusyError
from store.holders import Holders

MAX_CREDENTIAL = 512
"""Bytes of a credential that are worth looking up."""

Headers = Iterable[tuple[bytes, bytes]]


class BearerMiddleware:
    """Pure ASGI middleware around everything that knows callers."""

    def __init__(self, app: ASGIApp, holders: Holders) -> None:
        self._app = app
        self._holders = holders

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope["caller"] = await self._caller(scope)
        await self._app(scope, receive, send)

    async def _caller(self, scope: Scope) -> Caller:
        peer = scope.get("client")
        address = address_bucket(peer[0] if peer else None)
        credentials, client = _named(scope["headers"])
        if not credentials:
            return Caller(address, client=client)
        token = bearer_token(credentials)
        if token is None:
            return Caller(address, refused="token", client=client)
        found = self._holders.kept(token)
        if found is None:
            try:
                found = await self._holders.find(token)
            except DatabaseBusyError:
                return Caller(address, refused="busy", client=client)
        holder, changes = found
        if holder is None:
            is_key = self._holders.is_key(token)
            return Caller(address, refused="key" if is_key else "token", client=client)
        return Caller(address, holder, client=client, changes=changes)


def _named(headers: Headers) -> tuple[list[bytes], str | None]:
    """Every Authorization header, and the client's own name."""
    credentials = []
    service = agent = b""
    for name, value in headers:
        if name == b"authorization":
            credentials.append(value)
        elif name == b"user-agent":
            agent = value
        elif name == b"x-service-client":
            service = value
    return credentials, _text(service or agent)


@functools.lru_cache(maxsize=1024)
def _text(value: bytes) -> str | None:
    text = value.decode("latin-1")
    if not text.isprintable():
        text = "".join(character for character in text if character.isprintable())
    return text[:200] or None


def bearer_token(credentials: list[bytes]) -> str | None:
    """The token of one well-formed Bearer header, or None for anything else.

    The scheme is case-insensitive (RFC 9110 section 11.1); two headers are never read.
    """
    if len(credentials) != 1 or len(credentials[0]) > MAX_CREDENTIAL:
        return None
    parts = credentials[0].split()
    if len(parts) != 2 or parts[0].lower() != b"bearer" or not parts[1].isascii():
        return None
    return parts[1].decode("ascii")

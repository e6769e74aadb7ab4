"""Bearer: finds out who is calling and puts a `Caller` on the ASGI scope.

A credential counts only in the Authorization header (RFC 6750 section 2.1). The middleware never
refuses a call: each surface answers a bad credential in its own way.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Hashable, Sequence

from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_server.callers import Caller
from mcp_server.limits import address_bucket
from store.changes import Kept
from store.errors import DatabaseUnavailableError
from store.holders import Holders

MAX_CREDENTIAL, MAX_NAME = 512, 256
"""Bytes of a credential that are worth looking up, and of a client's own name."""


Said = tuple[str | None, tuple[bytes, ...], bytes]
"""What a request says of its caller: the peer's address, every Authorization field, and the
client's own name."""


class BearerMiddleware:
    """Pure ASGI middleware around everything that knows callers.

    Who was found is kept until anything changes that decides who may call.
    """

    def __init__(self, app: ASGIApp, holders: Holders) -> None:
        self._app = app
        self._holders = holders
        self._callers: Kept[Hashable, Caller] = Kept()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            said = _said(scope)
            scope["caller"] = self._kept(said) or await self._caller(said)
        await self._app(scope, receive, send)

    def _kept(self, said: Said) -> Caller | None:
        """Who said the same before, if nothing has changed since."""
        caller = self._callers.get(_key(said), self._holders.changes()) if said[1] else None
        if caller is None or caller.holder is None or self._holders.has_ended(caller.holder):
            return None
        return caller

    async def _caller(self, said: Said) -> Caller:
        peer, credentials, client = said
        anyone = Caller(address_bucket(peer), client=_text(client))
        if not credentials:
            return anyone
        token = bearer_token(credentials)
        if token is None:
            return anyone._replace(refused="token")
        try:
            holder, changes = await self._holders.find(token)
        except DatabaseUnavailableError:
            return anyone._replace(refused="busy")
        if holder is None:
            return anyone._replace(refused="key" if self._holders.is_key(token) else "token")
        caller = anyone._replace(holder=holder, changes=changes)
        self._callers.put(_key(said), changes, caller)
        return caller


def _said(scope: Scope) -> Said:
    peer = scope.get("client")
    credentials: tuple[bytes, ...] = ()
    service = agent = b""
    for name, value in scope["headers"]:
        if name == b"authorization":
            credentials += (value,)
        elif name == b"user-agent":
            agent = value
        elif name == b"x-service-client":
            service = value
    return peer[0] if peer else None, credentials, (service or agent)[:MAX_NAME]


def _key(said: Said) -> Hashable:
    # No secret stays in memory.
    secret = hashlib.blake2b(b"\n".join(said[1]), digest_size=32).digest()
    return said[0], secret, said[2]


@functools.lru_cache(maxsize=1024)
def _text(value: bytes) -> str | None:
    text = value.decode("latin-1")
    if not text.isprintable():
        text = "".join(character for character in text if character.isprintable())
    return text[:200] or None


def bearer_token(credentials: Sequence[bytes]) -> str | None:
    """The token of one well-formed Bearer header, or None for anything else.

    The scheme is case-insensitive (RFC 9110 section 11.1); two headers are never read.
    """
    if len(credentials) != 1 or len(credentials[0]) > MAX_CREDENTIAL:
        return None
    parts = credentials[0].split()
    if len(parts) != 2 or parts[0].lower() != b"bearer" or not parts[1].isascii():
        return None
    return parts[1].decode("ascii")

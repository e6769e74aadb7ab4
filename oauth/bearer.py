"""Bearer: finds out who is calling and puts a `Caller` on the ASGI scope.

A credential counts only in the Authorization header (RFC 6750 section 2.1). The middleware never
refuses a call: each surface answers a bad credential in its own way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_server.callers import Caller
from mcp_server.limits import address_bucket
from store.accounts import Accounts
from store.tokens import Tokens

MAX_CREDENTIAL = 512
"""Bytes of a credential that are worth looking up."""

Headers = Sequence[tuple[bytes, bytes]]


class BearerMiddleware:
    """Pure ASGI middleware around everything that knows callers."""

    def __init__(self, app: ASGIApp, accounts: Accounts, tokens: Tokens) -> None:
        self._app = app
        self._accounts = accounts
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope["caller"] = await self._caller(scope)
        await self._app(scope, receive, send)

    async def _caller(self, scope: Scope) -> Caller:
        headers: Headers = scope["headers"]
        peer = scope.get("client")
        caller = Caller(
            address=address_bucket(peer[0] if peer else None), client=_client_name(headers)
        )
        credentials = [value for name, value in headers if name == b"authorization"]
        if not credentials:
            return caller
        token = bearer_token(credentials)
        if token is None:
            return replace(caller, refused="token")
        if token.startswith(self._accounts.key_prefix):
            holder = await self._accounts.holder(token)
            return replace(caller, holder=holder, refused=None if holder else "key")
        holder = await self._tokens.holder(token)
        return replace(caller, holder=holder, refused=None if holder else "token")


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


def _client_name(headers: Headers) -> str | None:
    found = dict(headers)
    name = found.get(b"x-service-client") or found.get(b"user-agent")
    if name is None:
        return None
    text = name.decode("latin-1")
    return "".join(c for c in text if c.isprintable())[:200] or None

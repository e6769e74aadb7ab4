"""Bearer: finds out who is calling and puts a `Caller` on the ASGI scope.

A credential counts only in the Authorization header (RFC 6750 section 2.1). The middleware never
refuses a call: each surface answers a bad credential in its own way.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_server.operations.callers import Caller
from store.audit import MAX_TEXT
from store.errors import DatabaseError
from store.principals import Principals

MAX_CREDENTIAL = 512
"""Most bytes of an Authorization field that is read."""

log = logging.getLogger(__name__)


class BearerMiddleware:
    """Pure ASGI middleware around every surface that needs a caller."""

    def __init__(
        self, app: ASGIApp, principals: Principals, wanted: Callable[[Scope], bool]
    ) -> None:
        self._app = app
        self._principals = principals
        self._wanted = wanted
        """Whether anything at the address of a request asks who is calling."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope["caller"] = await self._caller(scope)
        await self._app(scope, receive, send)

    async def _caller(self, scope: Scope) -> Caller:
        credentials: list[bytes] = []
        service = agent = b""
        for name, value in scope["headers"]:
            if name == b"authorization":
                credentials.append(value)
            elif name == b"user-agent":
                agent = value
            elif name == b"x-service-client":
                service = value
        address, *_port = scope.get("client") or ("",)
        client = (service or agent)[:MAX_TEXT].decode("latin-1")
        if not client.isprintable():
            client = "".join(filter(str.isprintable, client))
        if not credentials or not self._wanted(scope):
            return Caller(address, client=client)
        token = bearer_token(credentials)
        if token is None:
            return Caller(address, refused="token", client=client)
        try:
            principal = await self._principals.find(token)
        except DatabaseError as error:
            # Never reported as a bad credential, because hosts then delete their tokens.
            log.warning("A credential was not looked up: %s", error)
            return Caller(address, refused="unavailable", client=client)
        if principal is not None:
            return Caller(address, principal, client=client)
        return Caller(address, refused=self._principals.kind(token), client=client)


def bearer_token(credentials: list[bytes]) -> str | None:
    """The token of one well-formed Bearer header, or None for anything else.

    The scheme is case-insensitive (RFC 9110 section 11.1). Of two headers neither is read.
    """
    if len(credentials) != 1 or len(credentials[0]) > MAX_CREDENTIAL:
        return None
    parts = credentials[0].split()
    if len(parts) != 2 or parts[0].lower() != b"bearer" or not parts[1].isascii():
        return None
    return parts[1].decode("ascii")

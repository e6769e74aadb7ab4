"""Repeats: requests that were answered before, asked again in the very same words.

A client asks for the same address with the same header fields again and again. What was found out
the first time (who calls, what is asked, whether it is allowed, in which form it is sent) holds as
long as nothing has changed that decides who may call, and the night is the same: then only the
limits and the usage log are left to do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable
from typing import NamedTuple
from weakref import ref

from starlette.types import ASGIApp, Receive, Scope, Send

from mcp_server.callers import Caller
from mcp_server.errors import ApiError
from mcp_server.operations import Operation, admit, record_use
from mcp_server.replies import Reply
from mcp_server.services import Services
from rest_facade.responses import Form
from store.changes import Kept

KEPT_LIMIT = 4096
LONGEST_ADDRESS = 1024
"""Characters of an address that is remembered."""


class Repeat(NamedTuple):
    """What holds of a request that was answered from a stored page."""

    night: str
    caller: Caller
    operation: Operation
    form: ref[Form]
    """How the page is sent; it goes when the page is forgotten."""
    fresh: bool
    """Whether the client has that very form."""


class RepeatMiddleware:
    """Pure ASGI middleware before everything that finds out about a request."""

    def __init__(self, app: ASGIApp, services: Services, changes: Callable[[], int | None]) -> None:
        self._app = app
        self._services = services
        self._changes = changes
        self._kept: Kept[Hashable, Repeat] = Kept(KEPT_LIMIT)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        reply = self.at_once(scope)
        if reply is not None:
            await reply(scope, receive, send)
            return
        await self._app(scope, receive, send)
        repeat: Repeat | None = scope.get("repeat")
        if repeat is not None and len(scope["path"]) + len(scope["query_string"]) < LONGEST_ADDRESS:
            self._kept.put(_key(scope), repeat.caller.changes, repeat)

    def at_once(self, scope: Scope) -> Reply | None:
        """The answer to a request that was answered before; nothing is waited for."""
        if scope["type"] != "http" or scope["method"] != "GET":
            return None
        repeat = self._kept.get(_key(scope), self._changes())
        if repeat is None or repeat.night != self._services.active_night.data_version:
            return None
        form = repeat.form()
        if form is None:
            return None
        try:
            allowance = admit(repeat.operation.access, repeat.caller, self._services, "rest")
        except ApiError:
            return None  # it has not counted, and is refused again in all due form
        record_use(repeat.operation.name, repeat.caller, self._services)
        return form.reply(allowance, fresh=repeat.fresh)


def _key(scope: Scope) -> Hashable:
    said = b"\n".join([part for field in scope["headers"] for part in field])
    # No secret stays in memory.
    return scope["path"], scope["query_string"], hashlib.blake2b(said, digest_size=32).digest()

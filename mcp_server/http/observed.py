"""Observed: gives each request its id, and tells of it when it is answered."""

from __future__ import annotations

import logging
from collections.abc import Callable

from mcp_server.http.guard import App
from mcp_server.http.requests import Receive, Scope, Send
from telemetry.request import Request, current, request_of

REQUEST_ID = b"x-request-id"

access_log = logging.getLogger("access")
"""One line a request at INFO, if the operator wants it."""


class Observed:
    """Pure ASGI middleware around everything that answers requests.

    `record` is told of each request with the status of its answer, 0 if there was none.
    """

    def __init__(self, app: App, record: Callable[[Request, int], None] | None = None) -> None:
        self._app = app
        self._record = record

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent = next((value for name, value in scope["headers"] if name == REQUEST_ID), None)
        request = request_of(None if sent is None else sent.decode("latin-1"))
        status = 0

        async def send_with_id(message: Scope) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (REQUEST_ID, request.id.encode())]
            await send(message)

        token = current.set(request)
        try:
            await self._app(scope, receive, send_with_id)
        finally:
            request.code = request.code or (str(status) if status else "disconnected")
            if self._record is not None:
                self._record(request, status)
            if access_log.isEnabledFor(logging.INFO):
                _log(request)
            current.reset(token)


def _log(request: Request) -> None:
    """Log a request that was answered: never its address, path, query or credential."""
    fields = {
        "surface": request.surface,
        "operation": request.operation,
        "code": request.code,
        "ms": round(request.milliseconds, 1),
        "key_prefix": request.key_prefix,
    }
    access_log.info("request", extra={name: value for name, value in fields.items() if value != ""})

"""Traces: one span a request in OpenTelemetry's form, with what it waited for below it.

The names of attributes are those of the semantic conventions for HTTP servers. Neither the query
nor the path as it was sent is told, since a caller may have put a credential there; the operation
or the route stands for the path. OpenTelemetry is imported only when traces are wanted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from telemetry.request import Request, current

if TYPE_CHECKING:
    from opentelemetry.trace import Span

Scope = dict[str, Any]
App = Callable[..., Awaitable[None]]

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
OTHER = "_OTHER"
"""How the conventions call a method that is not known."""

CARRIED = (b"traceparent", b"tracestate")
"""The fields by which a caller's trace goes on (W3C Trace Context)."""

_begin: ContextVar[Callable[[str], AbstractContextManager[object]] | None] = ContextVar(
    "_begin", default=None
)
"""Begins a span below that of the request under way; None outside of one that is traced."""


def span(name: str) -> AbstractContextManager[object]:
    """A span below the request's, for as long as the block lasts; nothing where none is wanted."""
    begin = _begin.get()
    return nullcontext() if begin is None else begin(name)


class Traces:
    """Makes spans and hands them to a thread that sends them, in batches from a bounded queue."""

    def __init__(self, version: str) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        named = {SERVICE_VERSION: version}
        resource = Resource.create()
        if str(resource.attributes.get(SERVICE_NAME, "")).startswith("unknown_service"):
            named[SERVICE_NAME] = "pattern-screener"
        self._provider = TracerProvider(resource=resource.merge(Resource(named)))
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("screener", version)

    def around(self, app: App) -> App:
        """The app, with a span around each request; it needs the request's record."""
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind

        async def traced(scope: Scope, receive: object, send: Callable[..., Any]) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            status = 0

            async def send_noting(message: Scope) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                await send(message)

            carried = {n.decode(): v.decode("latin-1") for n, v in scope["headers"] if n in CARRIED}
            method = scope["method"] if scope["method"] in METHODS else OTHER
            with self._tracer.start_as_current_span(
                method,
                context=extract(carried),
                kind=SpanKind.SERVER,
                attributes={"http.request.method": method, "url.scheme": scope["scheme"]},
            ) as begun:
                token = _begin.set(self._tracer.start_as_current_span)
                try:
                    await app(scope, receive, send_noting)
                finally:
                    _begin.reset(token)
                    _describe(begun, method, status, current.get() or Request())

        return traced

    async def end(self) -> None:
        """Send what is left, for a few seconds at most."""
        await anyio.to_thread.run_sync(self._provider.shutdown)


def _describe(begun: Span, method: str, status: int, request: Request) -> None:
    from opentelemetry.trace import StatusCode

    operation = request.operation or "other"
    begun.update_name(f"{'HTTP' if method == OTHER else method} {operation}")
    begun.set_attribute("screener.surface", request.surface or "other")
    begun.set_attribute("screener.operation", operation)
    begun.set_attribute("screener.code", request.code or str(status))
    begun.set_attribute("screener.request_id", request.id)
    if operation.startswith("/"):
        begun.set_attribute("http.route", operation)
    if status:
        begun.set_attribute("http.response.status_code", status)
    if status >= 500:
        begun.set_attribute("error.type", str(status))
        begun.set_status(StatusCode.ERROR)

"""Traces: one span a request in OpenTelemetry's form, with what it waited for below it.

The names of attributes are those of the semantic conventions for HTTP servers. Neither the query
nor the path as it was sent is told, since a caller may have put a credential there; the operation
or the route stands for the path. OpenTelemetry is imported only when traces are wanted.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from threading import Thread
from typing import TYPE_CHECKING, Any

import anyio.to_thread

from telemetry.request import Request, current

if TYPE_CHECKING:
    from opentelemetry.trace import Span

Scope = dict[str, Any]
App = Callable[..., Awaitable[None]]
Send = Callable[..., Awaitable[None]]

END_SECONDS = 3.0
"""For which the end of the process waits for a collector."""

ENDING = "end of traces"
"""The thread that sends what is left."""

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
        self._provider = TracerProvider(
            resource=resource.merge(Resource(named)),
            shutdown_on_exit=False,  # it would wait once more
        )
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("screener", version)

    def around(self, app: App) -> App:
        """The app, with a span around each request; it needs the request's record."""

        async def traced(scope: Scope, receive: object, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            status = 0

            async def send_noting(message: Scope) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                await send(message)

            with self._of_request(scope) as begun:
                try:
                    await app(scope, receive, send_noting)
                finally:
                    _describe(begun, scope["method"], status, current.get() or Request())

        return traced

    @contextmanager
    def _of_request(self, scope: Scope) -> Iterator[Span]:
        from opentelemetry.propagate import extract
        from opentelemetry.trace import SpanKind

        carried = {n.decode(): v.decode("latin-1") for n, v in scope["headers"] if n in CARRIED}
        method = _known(scope["method"])
        attributes = {"http.request.method": method, "url.scheme": scope["scheme"]}
        with self._span(
            method, context=extract(carried), kind=SpanKind.SERVER, attributes=attributes
        ) as begun:
            token = _begin.set(self._span)
            try:
                yield begun
            finally:
                _begin.reset(token)

    @contextmanager
    def _span(self, name: str, **options: Any) -> Iterator[Span]:  # noqa: ANN401 - OpenTelemetry's
        """A span that tells of an error its class alone: the words may hold people's data."""
        from opentelemetry.trace import StatusCode

        with self._tracer.start_as_current_span(
            name, record_exception=False, set_status_on_exception=False, **options
        ) as begun:
            try:
                yield begun
            except Exception as error:
                begun.set_attribute("error.type", type(error).__qualname__)
                begun.set_status(StatusCode.ERROR)
                raise

    async def end(self) -> None:
        """Send what is left, for a few seconds at most; what a collector takes later is lost."""
        sending = Thread(target=self._provider.shutdown, name=ENDING, daemon=True)
        sending.start()
        await anyio.to_thread.run_sync(sending.join, END_SECONDS)


def _known(method: str) -> str:
    return method if method in METHODS else OTHER


def _describe(begun: Span, method: str, status: int, request: Request) -> None:
    from opentelemetry.trace import StatusCode

    operation = request.operation or "other"
    begun.update_name(f"{method if method in METHODS else 'HTTP'} {operation}")
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

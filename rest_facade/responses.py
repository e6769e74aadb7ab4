"""Served or ApiError to an HTTP response: JSON, PNG, documents, and the one Error body."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import orjson
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from mcp_server.allowances import Allowance
from mcp_server.calls import Served
from mcp_server.errors import ApiError
from mcp_server.pages import Page

JSON = "application/json"
PNG = "image/png"
ONE_HOUR = "max-age=3600"
REVALIDATE = "no-cache"

LARGE = 2048
"""Bytes from which a body is worth compressing."""

Header = tuple[bytes, bytes]


class Reply:
    """One finished HTTP response; an ASGI app of its own, as Starlette's responses are."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: list[Header], body: bytes = b"") -> None:
        self.status = status
        self.headers = headers
        self.body = body

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        start = {
            "type": "http.response.start",
            "status": self.status,
            "headers": self.headers,
        }
        await send(start)
        await send({"type": "http.response.body", "body": self.body})

    def as_response(self) -> Response:
        """The same as a response of Starlette."""
        response = Response(self.body, self.status)
        response.raw_headers[:] = self.headers
        return response


class Wants:
    """What a request says of the forms it takes: the ETags it knows, the codings it reads."""

    __slots__ = ("codings", "known")

    def __init__(self, headers: Iterable[Header]) -> None:
        self.known: bytes | None = None
        self.codings = b""
        for name, value in headers:
            if name == b"accept-encoding":
                self.codings = value if not self.codings else self.codings + b"," + value
            elif name == b"if-none-match":
                self.known = value

    def coding(self) -> str | None:
        """The best coding it reads, of those that are offered (RFC 9110 section 12.5.3)."""
        weights = _weights(self.codings.decode("latin-1").lower())
        rest = weights.get("*", 0.0)
        offered = {name: weights.get(name, rest) for name in ("zstd", "gzip")}
        best = max(offered, key=offered.__getitem__)
        return best if offered[best] > 0 else None


def _weights(field: str) -> dict[str, float]:
    weights = {}
    for item in field.split(","):
        name, _, parameter = item.partition(";")
        weight = parameter.strip().removeprefix("q=") if parameter else "1"
        try:
            weights[name.strip()] = float(weight)
        except ValueError:
            weights[name.strip()] = 0.0
    return weights


def from_served(served: Served, *, keyed: bool, wants: Wants) -> Reply:
    """The response of an answer; 304 when the client's If-None-Match names these very bytes."""
    audience = "private" if keyed else "public"
    if served.page is None:
        page = served.png or Page(b"")
        return stored(page, PNG, f"{audience}, {ONE_HOUR}", wants, served.allowance)
    return stored(served.page, JSON, f"{audience}, {REVALIDATE}", wants, served.allowance)


def stored(
    page: Page, media_type: str, cache_control: str, wants: Wants, allowance: Allowance
) -> Reply:
    """A 200 with a strong ETag, or the 304 that stands for it (RFC 9110 section 13.1.2)."""
    large = len(page.body) >= LARGE and media_type != PNG
    coding = wants.coding() if large and wants.codings else None
    # A compressed body is another representation, so it has another strong tag.
    tag = b'"%b"' % page.tag if coding is None else b'"%b-%b"' % (page.tag, coding.encode())
    headers = [
        (b"cache-control", cache_control.encode()),
        (b"etag", tag),
        (b"vary", b"Authorization, Accept-Encoding" if large else b"Authorization"),
        (b"ratelimit-policy", allowance.policy.encode()),
        (b"ratelimit", allowance.state.encode()),
    ]
    if wants.known is not None and names_tag(wants.known, tag):
        return Reply(304, headers)
    body = page.body
    if coding is not None:
        body = page.zstd if coding == "zstd" else page.gzip
        headers.append((b"content-encoding", coding.encode()))
    headers.append((b"content-type", media_type.encode()))
    headers.append((b"content-length", b"%d" % len(body)))
    return Reply(200, headers, body)


def names_tag(known: bytes, tag: bytes) -> bool:
    """Whether an If-None-Match names a quoted ETag."""
    candidates = (candidate.strip().removeprefix(b"W/") for candidate in known.split(b","))
    return known.strip() == b"*" or tag in candidates


def from_error(error: ApiError, docs_url: str, headers: Mapping[str, str] | None = None) -> Reply:
    """The response of a refusal."""
    body = orjson.dumps(error.body(docs_url))
    allowance = error.allowance.headers() if error.allowance else {}
    fields = {
        "Content-Type": JSON,
        "Content-Length": str(len(body)),
        "Cache-Control": "no-store",
        **allowance,
        **(headers or {}),
    }
    wait = (error.details or {}).get("retry_after_seconds")
    if wait is not None:
        fields["Retry-After"] = str(wait)
    return Reply(
        error.status,
        [(name.lower().encode(), value.encode("latin-1")) for name, value in fields.items()],
        body,
    )

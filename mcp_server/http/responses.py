"""HTTP responses: for an answer, with its ETag and content coding, for an error, and for the pages
of other sites (CORS).

A form of an answer (its header fields and its body in one coding) is prepared once and kept with
the answer. The state of the quotas differs by caller, so it is added to each response.

CORS (the Fetch standard, section 3.3) lets the pages of any site read what needs no cookie. What
authenticates below these paths is a key or a token, which a page has only if a person gave it one.
So every origin gets the same fields, and none of them admits credentials. The pages of this site
are not below these paths. Starlette's middleware is not used: it answers by Origin, so that a cache
keeps a copy for each site, and repeats the names of fields that a page asks for. In front of the
edge it would answer without bounds; behind it, a page could not read what the edge refuses.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from typing import NamedTuple

import orjson
import zstandard

from mcp_server.calls.callers import Allowance
from mcp_server.calls.errors import ApiError
from mcp_server.http.requests import (
    Header,
    Receive,
    Scope,
    Send,
    best_coding,
    is_below,
    names_etag,
)
from mcp_server.operations.answers import JSON, PNG, Answer

PRIVATE, PRIVATE_HOUR = "private, no-cache", "private, max-age=3600"
PUBLIC, PUBLIC_HOUR = "public, no-cache", "public, max-age=3600"
"""How long a response may be reused, and by whom (RFC 9111 section 5.2.2)."""

LARGE = 2048
"""A body of at least this many bytes is worth compressing."""

CODINGS = ("zstd", "gzip")

CORS_METHODS = {
    # GET and DELETE are answered 405, and a page should see that instead of a failed connection.
    "/mcp": b"POST, GET, DELETE",
    "/api/v1": b"GET, HEAD, PUT, PATCH, POST",
    "/llms.txt": b"GET, HEAD",
    "/server.json": b"GET, HEAD",
    "/.well-known": b"GET, HEAD",
    "/oauth/register": b"POST",
    "/oauth/token": b"POST",
    "/oauth/revoke": b"POST",
}
"""The methods that a page may use, by the path that they are below."""

CORS_ALLOWED = (
    b"Authorization, Content-Type, Accept, If-Match, If-None-Match, Last-Event-ID, "
    b"MCP-Protocol-Version, Mcp-Method, Mcp-Name, Mcp-Session-Id, X-Service-Client, *"
)
"""The star stands for any other name, such as `Mcp-Param-*`, but never for Authorization."""

CORS_EXPOSED = (
    b"WWW-Authenticate, ETag, RateLimit, RateLimit-Policy, Retry-After, "
    b"MCP-Protocol-Version, Mcp-Session-Id, X-Request-Id"
)
"""What a page may read beside the fields that it always may."""

CORS_MAX_AGE = b"7200"
"""Seconds for which a browser need not ask again; none keeps an answer for much longer."""

CORS_FIELDS: tuple[Header, ...] = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-expose-headers", CORS_EXPOSED),
)
ASKED = b"access-control-request-method"


class HttpResponse:
    """One finished response; an ASGI app, as Starlette's responses are."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, headers: list[Header], body: bytes = b"") -> None:
        self.status = status
        self.headers = headers
        """Names in lower case, as ASGI requires, with their values."""
        self.body = body

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status, "headers": self.headers})
        await send({"type": "http.response.body", "body": self.body})


def response(status: int, body: bytes = b"", media_type: str = JSON) -> HttpResponse:
    """A response whose header fields are only its content type and length."""
    headers = [
        (b"content-type", media_type.encode()),
        (b"content-length", b"%d" % len(body)),
    ]
    return HttpResponse(status, headers, body)


class Representation(NamedTuple):
    """One prepared form of an answer: what is the same in its response for every caller."""

    etag: bytes
    """Strong and quoted (RFC 9110 section 8.8.3)."""
    shared: tuple[Header, ...]
    """Header fields of the 200 and of the 304."""
    content: tuple[Header, ...]
    """Header fields of the 200 only."""
    body: bytes


def answer_response(
    answer: Answer, fields: Mapping[bytes, bytes], age: str, allowance: Allowance | None = None
) -> HttpResponse:
    """The response for an answer, in a coding that the client accepts; 304 if the client has it.

    `fields` are those of the request's header.
    """
    codings, known = fields.get(b"accept-encoding"), fields.get(b"if-none-match")
    coding = best_coding(codings, CODINGS) if codings and is_compressible(answer) else None
    form = answer.forms.get((age, coding))
    if form is None:
        form = answer.forms[age, coding] = _form(answer, age, coding)
    headers = [*form.shared]
    if allowance is not None:
        headers += (b"ratelimit-policy", allowance.policy), (b"ratelimit", allowance.state)
    if known and names_etag(known, form.etag):
        return HttpResponse(304, headers)
    headers += form.content
    return HttpResponse(200, headers, form.body)


def change_response(answer: Answer, allowance: Allowance) -> HttpResponse:
    """The response to a change of the tracked list.

    It has no ETag, since it is not the list as a GET would answer it (RFC 9110 section 9.3.4).
    """
    made = response(200, answer.body, answer.media_type)
    made.headers += (b"cache-control", b"no-store"), *quota_fields(allowance)
    return made


def matches(if_match: bytes, tag: bytes) -> bool:
    """Whether an If-Match field names the representation whose body has this tag, in any coding.

    The comparison is strong (RFC 9110 section 13.1.1): a weak tag never matches.
    """
    named = {candidate.strip() for candidate in if_match.split(b",")}
    ours = {b'"%b"' % tag, *(b'"%b-%b"' % (tag, coding.encode()) for coding in CODINGS)}
    return named == {b"*"} or not named.isdisjoint(ours)


def quota_fields(allowance: Allowance) -> tuple[Header, Header]:
    """The state of the caller's quotas, as the draft `ratelimit-headers` has it."""
    return (b"ratelimit-policy", allowance.policy), (b"ratelimit", allowance.state)


def is_compressible(answer: Answer) -> bool:
    """Whether an answer is worth compressing."""
    return len(answer.body) >= LARGE and answer.media_type != PNG


def _form(answer: Answer, age: str, coding: str | None) -> Representation:
    body, etag = answer.body, b'"%b"' % answer.tag
    content = [(b"content-type", answer.media_type.encode())]
    if coding is not None:
        body = _compressed(body, coding)
        # A compressed body is another representation, so it has another strong tag.
        etag = b'"%b-%b"' % (answer.tag, coding.encode())
        content.append((b"content-encoding", coding.encode()))
    content.append((b"content-length", b"%d" % len(body)))
    vary = b"Authorization, Accept-Encoding" if is_compressible(answer) else b"Authorization"
    shared = ((b"cache-control", age.encode()), (b"etag", etag), (b"vary", vary))
    return Representation(etag, shared, tuple(content), body)


def _compressed(body: bytes, coding: str) -> bytes:
    """The body as zstd (RFC 8878) or gzip (RFC 1952); no timestamp, so the bytes never differ."""
    if coding == "gzip":
        return gzip.compress(body, compresslevel=6, mtime=0)
    compressed: bytes = zstandard.ZstdCompressor(level=3).compress(body)
    return compressed


def error_response(
    error: ApiError, docs_url: str, extra: Mapping[str, str] | None = None
) -> HttpResponse:
    """The response for a refusal, with the Error body."""
    body = orjson.dumps(error.body(docs_url))
    fields = {
        "content-type": JSON,
        "content-length": str(len(body)),
        "cache-control": "no-store",
        **{name.lower(): value for name, value in (extra or {}).items()},
    }
    if error.retry_after:
        fields["retry-after"] = str(error.retry_after)
    headers = [(name.encode(), value.encode("latin-1")) for name, value in fields.items()]
    if error.allowance is not None:
        headers += quota_fields(error.allowance)
    return HttpResponse(error.status, headers, body)


def cors_fields(path: str) -> tuple[Header, ...]:
    """The fields that every response of a path carries, whatever its status; none for a page."""
    return CORS_FIELDS if is_below(path, CORS_METHODS) else ()


def preflight(scope: Scope) -> HttpResponse | None:
    """The response to a browser that asks what a page may send; None for any other request.

    Everybody gets these bytes: nothing is looked up, and nothing of the request is repeated.
    """
    if scope["method"] != "OPTIONS" or ASKED not in scope["fields"]:
        return None
    for start, methods in CORS_METHODS.items():
        if is_below(scope["path"], (start,)):
            headers = [
                (b"access-control-allow-methods", methods),
                (b"access-control-allow-headers", CORS_ALLOWED),
                (b"access-control-max-age", CORS_MAX_AGE),
            ]
            return HttpResponse(204, headers)
    return None

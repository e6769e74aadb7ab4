"""Served or ApiError to an HTTP response: JSON, PNG, documents, and the one Error body."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

import orjson

from mcp_server.allowances import Allowance
from mcp_server.calls import Served
from mcp_server.errors import ApiError
from mcp_server.pages import Page
from mcp_server.replies import Header, Reply, lines

JSON = "application/json"
PNG = "image/png"
ONE_HOUR = "max-age=3600"
REVALIDATE = "no-cache"

LARGE = 2048
"""Bytes from which a body is worth compressing."""

Coding = Literal["zstd", "gzip"]


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

    def coding(self) -> Coding | None:
        """The best coding it reads, of those that are offered (RFC 9110 section 12.5.3)."""
        weights = _weights(self.codings.decode("latin-1").lower())
        rest = weights.get("*", 0.0)
        codings: tuple[Coding, ...] = ("zstd", "gzip")
        offered = {name: weights.get(name, rest) for name in codings}
        best = max(codings, key=offered.__getitem__)
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


class Form(NamedTuple):
    """One way to send a page: all of the response that is the same for every caller."""

    tag: bytes
    """Its strong ETag, quoted."""
    shared: bytes
    """Header lines of the 200 and of the 304."""
    content: bytes
    """Header lines of the 200 alone."""
    body: bytes


def from_served(served: Served, *, keyed: bool, wants: Wants) -> Reply:
    """The response of an answer; 304 when the client's If-None-Match names these very bytes."""
    page, media_type, age = served.page, JSON, REVALIDATE
    if page is None:
        page, media_type, age = served.png or Page(b""), PNG, ONE_HOUR
    cache_control = f"{'private' if keyed else 'public'}, {age}"
    return stored(page, media_type, cache_control, wants, served.allowance)


def stored(
    page: Page, media_type: str, cache_control: str, wants: Wants, allowance: Allowance
) -> Reply:
    """A 200 with a strong ETag, or the 304 that stands for it (RFC 9110 section 13.1.2)."""
    coding = None
    if wants.codings and is_large(page, media_type):
        coding = wants.coding()
    form: Form | None = page.forms.get((cache_control, coding))
    if form is None:
        form = page.forms[cache_control, coding] = _form(page, media_type, cache_control, coding)
    head = form.shared + allowance.lines()
    if wants.known is not None and names_tag(wants.known, form.tag):
        return Reply(304, head)
    return Reply(200, head + form.content, form.body)


def is_large(page: Page, media_type: str) -> bool:
    """Whether a page is worth compressing."""
    return len(page.body) >= LARGE and media_type != PNG


def _form(page: Page, media_type: str, cache_control: str, coding: Coding | None) -> Form:
    body, tag, encoding = page.body, b'"%b"' % page.tag, []
    if coding is not None:
        body = page.zstd if coding == "zstd" else page.gzip
        # A compressed body is another representation, so it has another strong tag.
        tag = b'"%b-%b"' % (page.tag, coding.encode())
        encoding = [(b"content-encoding", coding.encode())]
    vary = b"Authorization"
    if is_large(page, media_type):
        vary += b", Accept-Encoding"
    shared = ((b"cache-control", cache_control.encode()), (b"etag", tag), (b"vary", vary))
    length = (b"content-length", b"%d" % len(body))
    content = (*encoding, (b"content-type", media_type.encode()), length)
    return Form(tag, lines(shared), lines(content), body)


def names_tag(known: bytes, tag: bytes) -> bool:
    """Whether an If-None-Match names a quoted ETag."""
    candidates = (candidate.strip().removeprefix(b"W/") for candidate in known.split(b","))
    return known.strip() == b"*" or tag in candidates


def from_error(error: ApiError, docs_url: str, extra: Mapping[str, str] | None = None) -> Reply:
    """The response of a refusal."""
    body = orjson.dumps(error.body(docs_url))
    allowance = error.allowance.headers() if error.allowance else {}
    fields = {
        "Content-Type": JSON,
        "Content-Length": str(len(body)),
        "Cache-Control": "no-store",
        **allowance,
        **(extra or {}),
    }
    wait = (error.details or {}).get("retry_after_seconds")
    if wait is not None:
        fields["Retry-After"] = str(wait)
    headers = ((name.lower().encode(), value.encode("latin-1")) for name, value in fields.items())
    return Reply(error.status, lines(headers), body)

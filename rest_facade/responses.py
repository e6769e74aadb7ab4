"""Served or ApiError to an HTTP response: JSON, PNG, documents, and the one Error body."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

import orjson

from mcp_server.allowances import Allowance
from mcp_server.calls import Served
from mcp_server.errors import ApiError
from mcp_server.pages import Page
from mcp_server.replies import Header, Reply, lines

JSON = "application/json"
PNG = "image/png"

PRIVATE, PRIVATE_HOUR = "private, no-cache", "private, max-age=3600"
PUBLIC, PUBLIC_HOUR = "public, no-cache", "public, max-age=3600"
"""How long an answer may be reused, and by whom (RFC 9111 section 5.2.2)."""

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

    def knows(self, form: Form) -> bool:
        """Whether the client has this very form."""
        return self.known is not None and names_tag(self.known, form.tag)

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


@dataclass(frozen=True, slots=True, weakref_slot=True)
class Form:
    """One way to send a page: all of the response that is the same for every caller."""

    tag: bytes
    """Its strong ETag, quoted (RFC 9110 section 8.8.3)."""
    shared: bytes
    """Header lines of the 200 and of the 304."""
    content: bytes
    """Header lines of the 200 alone."""
    body: bytes

    def reply(self, allowance: Allowance, *, fresh: bool) -> Reply:
        """The response: 304 for who has these very bytes (RFC 9110 section 13.1.2)."""
        head = self.shared + allowance.lines()
        return Reply(304, head) if fresh else Reply(200, head + self.content, self.body)


def served_form(served: Served, wants: Wants, *, keyed: bool) -> Form:
    """How an answer is sent to who wants it."""
    if served.page is None:
        age = PRIVATE_HOUR if keyed else PUBLIC_HOUR
        return form_of(served.png or Page(b""), wants, age, PNG)
    return form_of(served.page, wants, PRIVATE if keyed else PUBLIC)


def form_of(page: Page, wants: Wants, age: str, media_type: str = JSON) -> Form:
    """The form of a page, prepared once for each coding."""
    coding = wants.coding() if wants.codings and is_large(page, media_type) else None
    form: Form | None = page.forms.get((age, coding))
    if form is None:
        form = page.forms[age, coding] = _form(page, media_type, age, coding)
    return form


def is_large(page: Page, media_type: str) -> bool:
    """Whether a page is worth compressing."""
    return len(page.body) >= LARGE and media_type != PNG


def _form(page: Page, media_type: str, age: str, coding: Coding | None) -> Form:
    body, tag, encoding = page.body, b'"%b"' % page.tag, []
    if coding is not None:
        body = page.zstd if coding == "zstd" else page.gzip
        # A compressed body is another representation, so it has another strong tag.
        tag = b'"%b-%b"' % (page.tag, coding.encode())
        encoding = [(b"content-encoding", coding.encode())]
    vary = b"Authorization"
    if is_large(page, media_type):
        vary += b", Accept-Encoding"
    shared = ((b"cache-control", age.encode()), (b"etag", tag), (b"vary", vary))
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

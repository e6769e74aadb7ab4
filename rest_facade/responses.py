"""Answer or ApiError to an HTTP response: JSON, PNG, documents, and the one Error body."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import orjson
from starlette.responses import Response

from mcp_server.calls import Answer
from mcp_server.errors import ApiError

JSON = "application/json"
PNG = "image/png"
ONE_HOUR = "max-age=3600"
REVALIDATE = "no-cache"


def from_answer(answer: Answer, *, keyed: bool, known: str | None) -> Response:
    """The response of an answer; 304 when the client's If-None-Match names these very bytes."""
    audience = "private" if keyed else "public"
    if answer.body is None:
        return stored(answer.png or b"", PNG, f"{audience}, {ONE_HOUR}", known, answer.allowance)
    return stored(answer.body, JSON, f"{audience}, {REVALIDATE}", known, answer.allowance)


def stored(
    body: bytes,
    media_type: str,
    cache_control: str,
    known: str | None,
    allowance: Mapping[str, str] | None,
) -> Response:
    """A 200 with a strong ETag, or the 304 that stands for it (RFC 9110 section 13.1.2)."""
    tag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
    headers = {"Cache-Control": cache_control, "ETag": tag, "Vary": "Authorization"}
    headers.update(allowance or {})
    if known is not None and _names(known, tag):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=media_type, headers=headers)


def _names(known: str, tag: str) -> bool:
    candidates = (candidate.strip().removeprefix("W/") for candidate in known.split(","))
    return known.strip() == "*" or tag in candidates


def from_error(error: ApiError, docs_url: str, challenge: str | None = None) -> Response:
    """The response of a refusal."""
    headers = {"Cache-Control": "no-store", **(error.allowance or {})}
    wait = (error.details or {}).get("retry_after_seconds")
    if wait is not None:
        headers["Retry-After"] = str(wait)
    if challenge is not None:
        headers["WWW-Authenticate"] = challenge
    return Response(
        orjson.dumps(error.body(docs_url)),
        status_code=error.status,
        media_type=JSON,
        headers=headers,
    )

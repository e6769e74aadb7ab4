"""Answer or ApiError to an HTTP response: JSON, PNG, and the one Error body."""

from __future__ import annotations

import orjson
from starlette.responses import Response

from mcp_server.calls import Answer
from mcp_server.errors import ApiError

JSON = "application/json"
CHART_AGE = "max-age=3600"


def from_answer(answer: Answer, *, keyed: bool) -> Response:
    """The 200 response of an answer."""
    audience = "private" if keyed else "public"
    if answer.png is not None and answer.body is None:
        return Response(
            answer.png,
            media_type="image/png",
            headers={"Cache-Control": f"{audience}, {CHART_AGE}"},
        )
    return Response(
        answer.body, media_type=JSON, headers={"Cache-Control": f"{audience}, no-cache"}
    )


def from_error(error: ApiError, docs_url: str, challenge: str | None = None) -> Response:
    """The response of a refusal."""
    headers = {"Cache-Control": "no-store"}
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

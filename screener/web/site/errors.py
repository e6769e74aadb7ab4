"""Errors outside any route, and crashes: programs get JSON, and people get a page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mcp_server.calls.errors import ApiError, PageRefusal
from mcp_server.http.application import AGENT_PATHS, OAUTH_PATHS
from mcp_server.http.requests import is_below, prefers_html
from mcp_server.limits.limits import Limiter
from screener.web.site.pages import Pages

PROGRAMS = (*AGENT_PATHS, *OAUTH_PATHS, "/.well-known")

SENTENCES = {
    404: "There is no such page. Check the URL.",
    405: "This URL does not accept that request. Go back and use a link or a button.",
    500: "Something went wrong here, and the error was logged. Try again in a moment.",
}

Handler = Callable[[Request, Any], Awaitable[Response]]


def exception_handlers(pages: Pages, docs_url: str, limiter: Limiter) -> dict[Any, Handler]:
    """Starlette's handlers for a request that no route takes, and for one that fails."""

    async def no_route(request: Request, error: HTTPException) -> Response:
        refusal = ApiError("method_not_allowed" if error.status_code == 405 else "not_found")
        try:
            await limiter.count_other(request.scope["caller"], "refused")
        except ApiError as limited:
            refusal = limited
        response = _response(request, refusal, docs_url, pages)
        response.headers.update(error.headers or {})
        return response

    async def crash(request: Request, _error: Exception) -> Response:
        # Starlette raises the error again behind this response, and the server logs it.
        return _response(request, ApiError("internal_error"), docs_url, pages)

    return {HTTPException: no_route, Exception: crash}


def _response(request: Request, error: ApiError, docs_url: str, pages: Pages) -> Response:
    path, accept = request.url.path, request.headers.get("accept", "").encode("latin-1")
    for_programs = is_below(path, PROGRAMS)
    words = SENTENCES.get(error.status, error.message)
    wait = (error.details or {}).get("retry_after_seconds", 0)
    if prefers_html(accept) and not for_programs:
        response = pages.refuse(path, PageRefusal(error.status, words, wait))
    else:
        headers = {"Cache-Control": "no-store"}
        headers |= {"Retry-After": str(wait)} if wait else {}
        response = JSONResponse(error.body(docs_url), error.status, headers)
    if not for_programs:
        response.headers["Vary"] = "Accept"
    return response

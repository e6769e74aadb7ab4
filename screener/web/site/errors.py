"""Errors outside any route, and crashes: programs get JSON, and people get a page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

from mcp_server.calls.errors import ApiError, PageRefusal
from mcp_server.http.application import API_PATHS, OAUTH_PATHS
from mcp_server.http.requests import is_below, prefers_html
from mcp_server.http.responses import error_response
from mcp_server.limits.limits import Limiter
from screener.web.site.pages import Page, Pages

PROGRAMS = (*API_PATHS, *OAUTH_PATHS, "/.well-known")

SENTENCES = {
    404: "There is no such page. Check the URL.",
    405: "This URL does not accept that request. Go back and use a link or a button.",
    500: "Something went wrong here, and the error was logged. Try again in a moment.",
}

Handler = Callable[[Request, Any], Awaitable[Any]]
"""Makes a response; Starlette's type of it names only its own."""


def exception_handlers(pages: Pages, docs_url: str, limiter: Limiter) -> dict[Any, Handler]:
    """Starlette's handlers for a request that no route takes, and for one that fails."""

    async def no_route(request: Request, error: HTTPException) -> Page:
        refusal = ApiError("method_not_allowed" if error.status_code == 405 else "not_found")
        try:
            await limiter.count_other(request.scope["caller"], "refused")
        except ApiError as limited:
            refusal = limited
        return _response(request, refusal, docs_url, pages, error.headers or {})

    async def crash(request: Request, _error: Exception) -> Page:
        # Starlette raises the error again behind this response, and the server logs it.
        return _response(request, ApiError("internal_error"), docs_url, pages, {})

    return {HTTPException: no_route, Exception: crash}


def _response(
    request: Request, error: ApiError, docs_url: str, pages: Pages, more: Mapping[str, str]
) -> Page:
    path, accept = request.url.path, request.headers.get("accept", "").encode("latin-1")
    for_programs = is_below(path, PROGRAMS)
    if not for_programs:
        more = {**more, "Vary": "Accept"}
    if for_programs or not prefers_html(accept):
        return error_response(error, docs_url, more)
    words = SENTENCES.get(error.status, error.message)
    response = pages.refuse(path, PageRefusal(error.status, words, error.retry_after))
    response.headers.update(more)
    return response

"""Errors: people get a page where programs get JSON, for addresses that are no interface."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from web.assets import load_assets
from web.pages import Pages
from web.refusals import Refusal

PROGRAMS = ("/api", "/mcp", "/oauth/token", "/oauth/register", "/oauth/revoke", "/.well-known")

SENTENCES = {
    404: "There is no such page. The address may be mistyped.",
    405: "This address does not do that. Go back, and follow a link or a button.",
    500: "Something went wrong here, and it was noted. Try again in a moment.",
}

Handler = Callable[[Request, Any], Awaitable[Response]]


def with_pages(handlers: Mapping[Any, Handler]) -> dict[Any, Handler]:
    """The exception handlers of programs, which answer browsers with pages."""
    pages = Pages(load_assets(), sign_up=False)
    return {kind: _with_page(handler, pages) for kind, handler in handlers.items()}


def _with_page(handler: Handler, pages: Pages) -> Handler:
    async def answer(request: Request, error: Any) -> Response:  # noqa: ANN401 - Starlette's
        response = await handler(request, error)
        if _of_a_program(request.url.path):
            return response
        if prefers_html(request.headers.get("accept", "")):
            sentence = SENTENCES.get(response.status_code, SENTENCES[500])
            page = pages.refuse(request.url.path, Refusal(response.status_code, sentence))
            if "allow" in response.headers:
                page.headers["Allow"] = response.headers["allow"]
            response = page
        response.headers["Vary"] = "Accept"
        return response

    return answer


def prefers_html(accept: str) -> bool:
    """Whether an Accept header names HTML, and JSON no more than that (RFC 9110 section 12.5.1)."""
    weights = dict(_weight(part) for part in accept.split(","))
    html = weights.get("text/html", 0.0)
    return html > 0 and html >= weights.get("application/json", 0.0)


def _weight(part: str) -> tuple[str, float]:
    media_type, *parameters = (word.strip().lower() for word in part.split(";"))
    quality = next((word[2:] for word in parameters if word.startswith("q=")), "1")
    try:
        return media_type, float(quality)
    except ValueError:
        return media_type, 0.0


def _of_a_program(path: str) -> bool:
    return any(path == start or path.startswith(f"{start}/") for start in PROGRAMS)

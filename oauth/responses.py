"""Responses of the OAuth endpoints: JSON that no cache keeps, also for errors."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from authlib.oauth2.rfc6749.errors import OAuth2Error
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from mcp_server.calls.errors import ApiError
from mcp_server.limits.counting import UncountedError
from mcp_server.limits.limits import Limiter
from store.errors import DatabaseUnavailableError, TooOftenError

NO_STORE = {"Cache-Control": "no-store", "Pragma": "no-cache"}

Endpoint = Callable[[Request], Awaitable[Response]]
"""What Starlette's routes call."""


def json_response(content: Mapping[str, object], status: int = 200) -> Response:
    """A JSON response (RFC 6749 section 5.1)."""
    return JSONResponse(content, status, headers=NO_STORE)


def too_many(seconds_to_wait: int) -> Response:
    """The response to one request too many."""
    response = json_response({"error": "rate_limited"}, 429)
    response.headers["Retry-After"] = str(seconds_to_wait)
    return response


def unavailable(seconds_to_wait: int) -> Response:
    """The response while something is away; never `invalid_grant`: hosts delete their tokens."""
    response = json_response({"error": "temporarily_unavailable"}, 503)
    response.headers["Retry-After"] = str(seconds_to_wait)
    return response


def with_oauth_errors(endpoint: Endpoint, limiter: Limiter) -> Endpoint:
    """The endpoint, with its exceptions turned into error responses (RFC 6749 section 5.2).

    What it refuses counts for the address, as requests with a bad credential do elsewhere.
    """

    async def respond(request: Request) -> Response:
        try:
            return await endpoint(request)
        except OAuth2Error as error:
            try:
                await limiter.count_other(request.scope["caller"], "refused")
            except ApiError as limited:
                wait = (limited.details or {})["retry_after_seconds"]
                return unavailable(wait) if limited.code == "unavailable" else too_many(wait)
            status, body, headers = error()
            return JSONResponse(body, status, headers=dict(headers))
        except TooOftenError as error:
            return too_many(error.wait)
        except UncountedError as error:
            return unavailable(error.wait)
        except DatabaseUnavailableError:
            return unavailable(1)

    return respond

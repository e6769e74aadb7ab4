"""Forms: the bodies of the token and revocation endpoints, read strictly and up to a bound."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import parse_qsl

from authlib.oauth2.rfc6749.errors import InvalidRequestError
from starlette.requests import Request

from mcp_server.http.requests import BodyError, read_body

FORM = "application/x-www-form-urlencoded"


async def read_form(request: Request) -> dict[str, str]:
    """The parameters of a posted form.

    Raises:
        InvalidRequestError: it is not a form, is too large or has a parameter twice, or the address
            has parameters, which logs would keep (RFC 6749 section 3.2).
    """
    if request.url.query:
        raise InvalidRequestError("Parameters belong in the body, not in the URL.")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != FORM:
        raise InvalidRequestError(f"The body must be {FORM}.")
    body = await body_of(request)
    try:
        pairs = parse_qsl(
            body.decode("latin-1"), keep_blank_values=True, errors="replace", max_num_fields=50
        )
    except ValueError as error:
        raise InvalidRequestError("The form has too many fields.") from error
    return single(pairs)


async def body_of(request: Request) -> bytes:
    """The body of a request.

    Raises:
        InvalidRequestError: it is over 64 KB (the status is 413), or it is incomplete.
    """
    try:
        return await read_body(request.receive)
    except BodyError as error:
        raise InvalidRequestError(f"The body {error}.", status_code=error.status) from error


def single(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The parameters by name; one without a value counts as absent (RFC 6749 section 3.1).
    `resource` may be repeated with the same value (RFC 8707 section 2).

    Raises:
        InvalidRequestError: a parameter appears twice.
    """
    parameters: dict[str, str] = {}
    for name, value in pairs:
        if name in parameters and (name != "resource" or parameters[name] != value):
            raise InvalidRequestError("A parameter appears twice.")
        parameters[name] = value
    return {name: value for name, value in parameters.items() if value}


def required(parameters: dict[str, str], name: str) -> str:
    """The value of a required parameter.

    Raises:
        InvalidRequestError: it is missing.
    """
    if name not in parameters:
        raise InvalidRequestError(f"{name} is missing.")
    return parameters[name]

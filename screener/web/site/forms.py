"""Forms: reads the forms that a browser posts, and refuses those that another site made it post.

A form carries a token: the HMAC of the address that it posts to, with its query, under the
browser's secret (the session's, or before sign-in the visit's). A token is not valid on another
form, in another browser or after the session. The token of a form that works once also covers the
nonce in front of it, which holds the time at which the form was made. If the browser also states
where a form came from (Origin, Sec-Fetch-Site), that must be this site.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import hmac
import re
import secrets
from collections.abc import AsyncGenerator, Mapping
from urllib.parse import parse_qsl, urlencode

from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import Request

from mcp_server.calls.errors import PageRefusal
from mcp_server.filters.symbol_lists import text_of
from mcp_server.http.requests import MAX_BODY, BodyError, read_body

TOKEN_FIELD = "token"  # noqa: S105 - a field's name

URLENCODED, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"

MAX_FIELDS = 20
"""Fields of a form with a file."""

ONCE_LASTS = dt.timedelta(hours=1)
"""How long a form that works once may be used."""

ONCE_TOKEN = re.compile(r"([0-9a-f]{8})[0-9a-f]{24}[0-9a-f]{64}")
"""The nonce, which is POSIX seconds and 96 random bits, and the HMAC."""

OUT_OF_DATE = "This form is out of date. Go back, reload the page and try again."


def address_of(request: Request) -> str:
    """The path and query of a request, in one spelling."""
    query = urlencode(request.query_params.multi_items())
    return f"{request.url.path}?{query}" if query else request.url.path


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a posted form; of a repeated field, the last value. A file is a field with the
    file's text.

    Raises:
        PageRefusal: it is not a form, is too large or incomplete, or has a NUL character.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("", URLENCODED, MULTIPART):
        raise PageRefusal(415, "This URL takes only HTML forms.")
    try:
        body = await read_body(request.receive)
    except BodyError as error:
        fault = "is too large" if error.status == 413 else str(error)
        raise PageRefusal(error.status, f"The form {fault}.") from error
    if kind == MULTIPART:
        fields = await _parts(request, body)
    else:
        fields = dict(parse_qsl(body.decode("latin-1"), keep_blank_values=True))
    if any("\0" in value for value in fields.values()):
        raise PageRefusal(400, "The form contains a character that no field accepts.")
    return fields


async def _parts(request: Request, body: bytes) -> dict[str, str]:
    """The fields of a form with a file (RFC 7578)."""

    async def stream() -> AsyncGenerator[bytes]:
        yield body

    parser = MultiPartParser(
        request.headers, stream(), max_files=1, max_fields=MAX_FIELDS, max_part_size=MAX_BODY
    )
    try:
        form = await parser.parse()
    except (MultiPartException, ValueError) as error:  # a charset may fail in ways of its own
        raise PageRefusal(400, "The form cannot be read.") from error
    fields = {
        name: part if isinstance(part, str) else text_of(await part.read())
        for name, part in form.items()
    }
    await form.close()
    return fields


def form_token(secret: str, address: str) -> str:
    """The token of the form that posts to an address of this site."""
    return hmac.new(secret.encode(), address.encode(), hashlib.sha256).hexdigest()


def once_token(secret: str, address: str, now: dt.datetime) -> str:
    """The token of a form that works once; whoever acts on the form records its use."""
    return _once(secret, address, f"{int(now.timestamp()):08x}{secrets.token_hex(12)}")


def once_until(token: str) -> dt.datetime:
    """Until when a form that works once may be used, by its token.

    Raises:
        PageRefusal: it is no such token.
    """
    parts = ONCE_TOKEN.fullmatch(token)
    if parts is None:
        raise PageRefusal(403, OUT_OF_DATE)
    return dt.datetime.fromtimestamp(int(parts[1], 16), dt.UTC) + ONCE_LASTS


def check_form(
    request: Request,
    form: Mapping[str, str],
    secret: str,
    public_url: str,
    *,
    now: dt.datetime | None = None,
) -> None:
    """Refuse a form that this site did not give to this browser.

    With `now`, the time, it must be a form that works once and may still be used. Whether it was
    used is for the store to say.

    Raises:
        PageRefusal: it comes from another site, or its token is not this browser's, or too old.
    """
    if not _from_here(request, public_url):
        raise PageRefusal(403, "This form was sent from another site, so nothing was changed.")
    token, address = form.get(TOKEN_FIELD, ""), address_of(request)
    if now is None:
        expected = form_token(secret, address)
    else:
        if once_until(token) <= now:
            raise PageRefusal(403, OUT_OF_DATE)
        expected = _once(secret, address, token[:32])
    if not hmac.compare_digest(token.encode(), expected.encode()):
        raise PageRefusal(403, OUT_OF_DATE)


def _once(secret: str, address: str, nonce: str) -> str:
    # An address begins with a slash, so this is the token of no other form.
    return nonce + form_token(secret, f"{nonce} {address}")


def _from_here(request: Request, public_url: str) -> bool:
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = request.headers.get("origin")
    # The site may be visited under a second name, such as localhost; a browser sends it as Host.
    own = f"{request.url.scheme}://{request.headers.get('host', '')}"
    return origin is None or origin in (public_url, own)

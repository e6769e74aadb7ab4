"""Forms: reads the forms that a browser posts, and refuses those that another site made it post.

A form carries a token: the HMAC of the address that it posts to, with its query, under the
browser's secret (the session's, or before sign-in the visit's). A token is not valid on another
form, in another browser or after the session. If the browser also states where a form came from
(Origin, Sec-Fetch-Site), that must be this site.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from urllib.parse import parse_qsl

from starlette.requests import Request

from mcp_server.http.requests import BodyTooLargeError, DisconnectedError, read_body
from web.refusals import Refusal
from web.return_paths import address_of

TOKEN_FIELD = "token"  # noqa: S105 - a field's name


async def read_form(request: Request) -> dict[str, str]:
    """The fields of a posted form; of a repeated field, the last value.

    Raises:
        Refusal: it is not a form, is too large or incomplete, or has a NUL character.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("", "application/x-www-form-urlencoded"):
        raise Refusal(415, "This address takes HTML forms only.")
    try:
        body = await read_body(request.receive)
    except BodyTooLargeError as error:
        raise Refusal(413, "The form is too large.") from error
    except DisconnectedError as error:
        raise Refusal(400, "The form was not sent completely.") from error
    fields = dict(parse_qsl(body.decode("latin-1"), keep_blank_values=True))
    if any("\0" in value for value in fields.values()):
        raise Refusal(400, "The form contains a character that no field accepts.")
    return fields


def form_token(secret: str, address: str) -> str:
    """The token of the form that posts to an address of this site."""
    return hmac.new(secret.encode(), address.encode(), hashlib.sha256).hexdigest()


def check_form(request: Request, form: Mapping[str, str], secret: str, public_url: str) -> None:
    """Refuse a form that this site did not give to this browser.

    Raises:
        Refusal: it comes from another site, or its token is not this browser's.
    """
    if not _from_here(request, public_url):
        raise Refusal(403, "This form was sent from another site, so nothing was changed.")
    expected = form_token(secret, address_of(request))
    if not hmac.compare_digest(form.get(TOKEN_FIELD, "").encode(), expected.encode()):
        raise Refusal(403, "This form is out of date. Go back, reload the page and try again.")


def _from_here(request: Request, public_url: str) -> bool:
    if request.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = request.headers.get("origin")
    # The site may be visited under a second name, such as localhost; a browser sends it as Host.
    own = f"{request.url.scheme}://{request.headers.get('host', '')}"
    return origin is None or origin in (public_url, own)

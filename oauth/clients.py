"""Client authentication at the token and revocation endpoints (RFC 6749 section 2.3).

Public clients name themselves. Those with a secret prove it in the body or by Basic, whichever they
registered: some hosts register one and use the other.
"""

from __future__ import annotations

import hmac

from authlib.oauth2.rfc6749.errors import InvalidClientError, InvalidRequestError
from authlib.oauth2.rfc6749.util import extract_basic_authorization
from starlette.requests import Request

from store.accounts import hash_secret
from store.grants import Client, Grants


async def authenticate(request: Request, form: dict[str, str], grants: Grants) -> Client:
    """The client that sent a form.

    Raises:
        InvalidClientError: it is unknown, or its secret is wrong or missing.
        InvalidRequestError: it names itself in two ways that disagree.
    """
    basic = _basic(request)
    status = 400 if basic is None else 401
    client_id, secret = basic or (form.get("client_id"), form.get("client_secret"))
    if basic is not None and form.get("client_id", client_id) != client_id:
        raise InvalidRequestError("The body and the Authorization header name two clients.")
    client = await _client(client_id, grants)
    if client is None or not _proves(client, secret):
        raise InvalidClientError("Register again, then sign in again.", status_code=status)
    return client


def _basic(request: Request) -> tuple[str | None, str | None] | None:
    """The credentials of a Basic header; None where none is used."""
    values = request.headers.getlist("authorization")
    if not any(value.lower().split(" ")[0].strip() == "basic" for value in values):
        return None
    if len(values) > 1:
        raise InvalidRequestError("There are two Authorization headers.")
    try:
        client_id, secret = extract_basic_authorization(request.headers)
    except ValueError:
        return None, None
    return client_id, secret


async def _client(client_id: str | None, grants: Grants) -> Client | None:
    # Whatever we issued is printable ASCII; a database may refuse to look for anything else.
    if client_id is None or not client_id.isascii() or not client_id.isprintable():
        return None
    return await grants.client(client_id)


def _proves(client: Client, secret: str | None) -> bool:
    if client.secret_hash is None:
        return True
    given = hash_secret(secret) if secret else ""
    return hmac.compare_digest(given, client.secret_hash)

"""Clients: how they identify and authenticate themselves (RFC 6749 section 2.3).

A public client only states its id. A client with a secret may send it in the body or by Basic, no
matter which it registered, since some hosts register one and use the other.
"""

from __future__ import annotations

import hmac

from authlib.oauth2.rfc6749.errors import InvalidClientError, InvalidRequestError
from authlib.oauth2.rfc6749.util import extract_basic_authorization
from starlette.requests import Request

from oauth.client_documents import ClientDocuments, document_host
from store.accounts.accounts import hash_secret
from store.accounts.clients import Client
from store.accounts.grants import Grants


class Clients:
    """The known apps: registered ones and, if documents are read, those with a document."""

    def __init__(self, grants: Grants, documents: ClientDocuments | None = None) -> None:
        self._grants = grants
        self._documents = documents

    @property
    def offer_documents(self) -> bool:
        """Whether apps are told that they may use the address of a client document as their id."""
        return self._documents is not None and not self._documents.unread

    def has_document(self, client_id: str) -> bool:
        """Whether a client's id is the address of a document that is read here."""
        return self._documents is not None and document_host(client_id) is not None

    async def find(self, client_id: str | None, network: str | None = None) -> Client | None:
        """A client as it was last seen.

        With a network, a new or stale document is read, which counts for that network.

        Raises:
            PageRefusal: it cannot be read, does not describe this client, or too many were read.
        """
        # Every id that we issue is printable ASCII; a database may refuse to search for others.
        if client_id is None or not client_id.isascii() or not client_id.isprintable():
            return None
        if client_id.startswith("https://"):  # no id that we issue is an address
            if self._documents is None or document_host(client_id) is None:
                return None
            if network is not None:
                return await self._documents.client(client_id, network)
        return await self._grants.client(client_id)

    async def authenticate(self, request: Request, form: dict[str, str]) -> Client:
        """The client that sent a form.

        Raises:
            InvalidClientError: it is unknown, or its secret is wrong or missing.
            InvalidRequestError: the body and the Authorization header name different clients.
        """
        basic = _basic(request)
        status = 400 if basic is None else 401
        client_id, secret = basic or (form.get("client_id"), form.get("client_secret"))
        if basic is not None and form.get("client_id", client_id) != client_id:
            raise InvalidRequestError(
                "The body and the Authorization header disagree on client_id."
            )
        client = await self.find(client_id)
        if client is None or not _proves(client, secret):
            raise InvalidClientError("Register again, then sign in again.", status_code=status)
        return client


def _basic(request: Request) -> tuple[str | None, str | None] | None:
    """The credentials of a Basic header; None if the request has no such header."""
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


def _proves(client: Client, secret: str | None) -> bool:
    if client.secret_hash is None:
        return True
    sent = hash_secret(secret) if secret else ""
    return hmac.compare_digest(sent, client.secret_hash)

"""Authorization requests (RFC 6749 section 4.1): checked here; the pages show and decide them.

If the client or its redirect address is wrong, the error is shown to the person on a page. Any
other error is sent to the client at its redirect address.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from authlib.oauth2.rfc6749.errors import AccessDeniedError, InvalidRequestError, OAuth2Error

from mcp_server.calls.errors import PageRefusal
from oauth.clients import Clients
from oauth.forms import required, single
from oauth.metadata import ProtectedResource, check_scope
from oauth.redirects import is_loopback, is_registered, with_response
from store.accounts.audit import Actor
from store.accounts.clients import Client
from store.accounts.grants import ConsentForm, Grants
from store.errors import (
    AccountError,
    TooManyError,
    TooOftenError,
    UnknownClientError,
    UsedFormError,
)

CODE_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
"""The pattern of every S256 challenge (RFC 7636 section 4.2)."""

Query = Sequence[tuple[str, str]]


class AuthorizationRequest(NamedTuple):
    """A checked authorization request of an app."""

    client: Client
    redirect_uri: str
    state: str | None
    code_challenge: str


class RedirectError(Exception):
    """A request whose error is sent to the client, by a redirect to `location`."""

    def __init__(self, error: str, location: str, client: Client, redirect_uri: str) -> None:
        super().__init__(error)
        self.error = error
        self.location = location
        self.client = client
        self.redirect_uri = redirect_uri


class Authorization:
    """Checks authorization requests, and gives the address to redirect to after the decision."""

    def __init__(self, grants: Grants, resource: ProtectedResource, clients: Clients) -> None:
        self._grants = grants
        self._resource = resource
        self._clients = clients

    def reads_document(self, query: Query) -> bool:
        """Whether the app has a client document, which is fetched only for a signed-in visitor."""
        client_id = _only(query, "client_id")
        return client_id is not None and self._clients.has_document(client_id)

    async def check(self, query: Query, network: str | None = None) -> AuthorizationRequest:
        """The checked request of a query.

        With a network, the app's client document is fetched if it is new or stale, and the
        fetch counts for that network. Without one, the app is taken as it was last seen.

        Raises:
            PageRefusal: the client or its redirect address is not known.
            RedirectError: anything else is wrong.
        """
        client = await self._client(query, network)
        redirect_uri = _redirect_uri(query, client)
        try:
            return self._request(single(query), client, redirect_uri)
        except OAuth2Error as error:
            location = self._location(redirect_uri, _only(query, "state"), error.get_body())
            raise RedirectError(error.error, location, client, redirect_uri) from error

    async def trusts(self, error: RedirectError, account_id: int) -> bool:
        """Whether a browser may be redirected with an error that its person did not ask for.

        That is to the person's own computer, or to a client that the account approved and did not
        revoke.
        """
        if is_loopback(error.redirect_uri):
            return True
        return await self._grants.approves(account_id, error.client.client_id)

    async def approve(
        self,
        request: AuthorizationRequest,
        account_id: int,
        *,
        form: ConsentForm,
        session: str | None = None,
        read_only: bool = False,
        actor: Actor,
    ) -> str:
        """The address that takes the code to the client (RFC 6749 section 4.1.2).

        Raises:
            SignedOutError: the session has ended meanwhile.
            PageRefusal: the form was used already, the account has too many apps or approves too
                often, or the client was deleted meanwhile.
        """
        try:
            code = await self._grants.approve(
                account_id,
                request.client.client_id,
                request.client.name,
                request.redirect_uri,
                request.code_challenge,
                form=form,
                session=session,
                read_only=read_only,
                actor=actor,
            )
        except (AccountError, UnknownClientError) as error:
            raise PageRefusal(400, str(error)) from error
        except (TooManyError, UsedFormError) as error:
            raise PageRefusal(409, str(error)) from error
        except TooOftenError as error:
            raise PageRefusal(429, str(error), error.wait) from error
        return self._location(request.redirect_uri, request.state, [("code", code)])

    async def refuse(self, request: AuthorizationRequest, form: ConsentForm) -> str:
        """The address that takes the person's refusal to the client (RFC 6749 section 4.1.2.1).

        Raises:
            PageRefusal: the form was used already.
        """
        try:
            await self._grants.refuse(form)
        except UsedFormError as error:
            raise PageRefusal(409, str(error)) from error
        body = AccessDeniedError().get_body()
        return self._location(request.redirect_uri, request.state, body)

    async def _client(self, query: Query, network: str | None) -> Client:
        client = await self._clients.find(_only(query, "client_id"), network)
        if client is None:
            raise PageRefusal(
                400,
                "This app is not registered here. Remove it where you use it, then add it again.",
            )
        return client

    def _request(
        self, query: dict[str, str], client: Client, redirect_uri: str
    ) -> AuthorizationRequest:
        _check_response(query)
        if query.get("code_challenge_method") != "S256":
            raise InvalidRequestError("code_challenge_method must be S256.")
        challenge = required(query, "code_challenge")
        if not CODE_CHALLENGE.fullmatch(challenge):
            raise InvalidRequestError("code_challenge is not an S256 challenge.")
        check_scope(query.get("scope"))
        self._resource.check_named(query.get("resource"))
        return AuthorizationRequest(client, redirect_uri, query.get("state"), challenge)

    def _location(self, redirect_uri: str, state: str | None, body: list[tuple[str, str]]) -> str:
        # The issuer prevents mix-up attacks between two servers (RFC 9207 section 2).
        stated = [("state", state)] if state else []
        issuer = ("iss", self._resource.authorization_server)
        return with_response(redirect_uri, [*body, *stated, issuer])


def _redirect_uri(query: Query, client: Client) -> str:
    named = _values(query, "redirect_uri")
    if not named and len(client.redirect_uris) == 1:
        return client.redirect_uris[0]
    if len(named) != 1 or not is_registered(named[0], client.redirect_uris):
        raise PageRefusal(
            400, "The app wants to send you on to an address that it has not registered."
        )
    return named[0]


def _check_response(query: dict[str, str]) -> None:
    """Refuse any request but a plain one for a code in the query (RFC 9101, RFC 9700)."""
    for name in ("request", "request_uri"):
        if name in query:
            raise OAuth2Error(
                f"The authorization server does not support the use of the {name} parameter.",
                error=f"{name}_not_supported",
            )
    if required(query, "response_type") != "code":
        raise OAuth2Error("response_type must be code.", error="unsupported_response_type")
    if query.get("response_mode", "query") != "query":
        raise InvalidRequestError("response_mode must be query.")


def _values(query: Query, name: str) -> list[str]:
    return [value for key, value in query if key == name]


def _only(query: Query, name: str) -> str | None:
    """The value of a parameter; None if it is absent or repeated."""
    values = _values(query, name)
    return values[0] if len(values) == 1 else None

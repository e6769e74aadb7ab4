"""The endpoints that apps call by themselves: discovery, registration, tokens and revocation.

What is not discovery is JSON that no cache keeps, also for errors. /oauth/authorize belongs to the
pages.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence

from authlib.oauth2.rfc6749.errors import InvalidGrantError, InvalidRequestError, OAuth2Error
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from mcp_server.calls.callers import Caller
from mcp_server.calls.errors import ApiError
from mcp_server.limits.limits import Limiter
from oauth.clients import Clients
from oauth.forms import body_of, read_form, required
from oauth.metadata import (
    GRANT_TYPES,
    RESOURCE_METADATA_ROOT,
    SCOPE,
    SERVER_METADATA_PATH,
    ProtectedResource,
    check_scope,
    server_metadata,
)
from oauth.registration import admit, checked, parse_object
from store.accounts.audit import Actor
from store.accounts.clients import Client
from store.accounts.credentials import LIFETIMES, CredentialKind, new_client_id, new_client_secret
from store.accounts.grants import Grants
from store.accounts.tokens import TokenPair, Tokens
from store.errors import DatabaseUnavailableError, TooOftenError

CODE_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")
"""RFC 7636 section 4.1."""

HOUR, MINUTES = 3600, 300
"""Seconds for which metadata may be kept: what may change with the network, for less."""

NO_STORE = {"Cache-Control": "no-store", "Pragma": "no-cache"}

LATER = {429: "rate_limited", 503: "temporarily_unavailable"}
"""The errors after which a client tries again; never `invalid_grant`: hosts delete their tokens."""

Endpoint = Callable[[Request], Awaitable[Response]]
"""What Starlette's routes call."""


class Endpoints:
    """The endpoints of the authorization server."""

    def __init__(
        self,
        grants: Grants,
        tokens: Tokens,
        clients: Clients,
        resource: ProtectedResource,
        limiter: Limiter,
    ) -> None:
        self._grants = grants
        self._tokens = tokens
        self._clients = clients
        self._resource = resource
        self._limiter = limiter

    def routes(self, others: Sequence[ProtectedResource]) -> list[Route]:
        """The routes, with the discovery of this resource and the others."""
        resource = self._resource
        documents = {
            **{each.metadata_path: each.metadata() for each in (resource, *others)},
            # Some hosts request this address without reading the challenge.
            RESOURCE_METADATA_ROOT: resource.metadata(),
        }
        with_documents, without = (
            _published(server_metadata(resource, client_documents=offered), MINUTES)
            for offered in (True, False)
        )

        async def server(request: Request) -> Response:
            return await (with_documents if self._clients.offer_documents else without)(request)

        return [
            *(Route(path, _published(document, HOUR)) for path, document in documents.items()),
            Route(SERVER_METADATA_PATH, server),
            self._post("/oauth/register", self.register),
            self._post("/oauth/token", self.token),
            self._post("/oauth/revoke", self.revoke),
        ]

    async def register(self, request: Request) -> Response:
        """Register an app (RFC 7591 section 3)."""
        network = _caller(request).network
        await admit(self._limiter, network)
        metadata = checked(parse_object(await body_of(request)))
        method = metadata.token_endpoint_auth_method
        secret = None if method == "none" else new_client_secret()
        client = await self._grants.add_client(
            new_client_id(),
            metadata.client_name,
            tuple(metadata.redirect_uris),
            auth_method=method,
            secret=secret,
            network=network,
        )
        answer = {
            **metadata._asdict(),
            "client_id": client.client_id,
            "client_id_issued_at": int(client.created_at.timestamp()),
        }
        if secret is not None:
            answer |= {"client_secret": secret, "client_secret_expires_at": 0}
        return JSONResponse(answer, 201, headers=NO_STORE)

    async def token(self, request: Request) -> Response:
        """Exchange a code or a refresh token for new tokens (RFC 6749 section 3.2)."""
        form = await read_form(request)
        grant_type = required(form, "grant_type")
        if grant_type not in GRANT_TYPES:
            raise OAuth2Error("This grant type is not offered.", error="unsupported_grant_type")
        client = await self._clients.authenticate(request, form)
        # Checked first, so that a wrong target uses up neither code nor token (RFC 8707).
        self._resource.check_named(form.get("resource"))
        exchange = self._redeem if grant_type == "authorization_code" else self._rotate
        pair = await exchange(form, client, _actor(request))
        if pair is None:
            raise InvalidGrantError("It is expired, used, revoked or not yours. Sign in again.")
        answer = {
            "access_token": pair.access,
            "token_type": "Bearer",
            "expires_in": int(LIFETIMES[CredentialKind.ACCESS].total_seconds()),
            "refresh_token": pair.refresh,
            "scope": SCOPE,
        }
        return JSONResponse(answer, headers=NO_STORE)

    async def revoke(self, request: Request) -> Response:
        """Revoke a token of either kind, which ends its whole grant (RFC 7009)."""
        form = await read_form(request)
        token = required(form, "token")
        if "client_id" not in form and "authorization" not in request.headers:
            # A public client proves nothing by its name: who has its token may end it.
            owner = await self._clients.find(await self._tokens.client_of(token))
            if owner is None:
                return Response(headers=NO_STORE)
            if owner.secret_hash is None:
                form["client_id"] = owner.client_id
        client = await self._clients.authenticate(request, form)
        # The hint is not needed, and a wrong one does no harm (RFC 7009 section 2.1).
        await self._tokens.revoke(token, client.client_id, actor=_actor(request))
        return Response(headers=NO_STORE)

    async def _redeem(self, form: dict[str, str], client: Client, actor: Actor) -> TokenPair | None:
        code = required(form, "code")
        verifier = required(form, "code_verifier")
        if not CODE_VERIFIER.fullmatch(verifier):
            raise InvalidRequestError("code_verifier must have 43 to 128 unreserved characters.")
        challenge = create_s256_code_challenge(verifier)
        return await self._tokens.redeem(
            code, client.client_id, challenge, form.get("redirect_uri"), actor=actor
        )

    async def _rotate(self, form: dict[str, str], client: Client, actor: Actor) -> TokenPair | None:
        refresh_token = required(form, "refresh_token")
        check_scope(form.get("scope"))
        return await self._tokens.rotate(refresh_token, client.client_id, actor=actor)

    def _post(self, path: str, endpoint: Endpoint) -> Route:
        """The route of an endpoint, whose exceptions become error responses."""

        async def respond(request: Request) -> Response:
            try:
                return await self._counted(request, endpoint)
            except ApiError as error:
                return _later(error.status, error.retry_after)
            except TooOftenError as error:
                return _later(429, error.wait)
            except DatabaseUnavailableError:
                return _later(503, 1)

        return Route(path, respond, methods=["POST"])

    async def _counted(self, request: Request, endpoint: Endpoint) -> Response:
        """The response of an endpoint; what it refuses counts for the address, as requests with a
        bad credential do elsewhere.

        Raises:
            ApiError: `rate_limited` or `unavailable`.
        """
        try:
            return await endpoint(request)
        except OAuth2Error as error:
            await self._limiter.count_other(_caller(request), "refused")
            status, body, headers = error()
            return JSONResponse(body, status, headers=dict(headers))


def _published(document: Mapping[str, object], seconds: int) -> Endpoint:
    """Serves a metadata document to everybody, who may keep it for so many seconds."""
    response = JSONResponse(document, headers={"Cache-Control": f"public, max-age={seconds}"})

    async def respond(_request: Request) -> Response:
        return response

    return respond


def _later(status: int, wait: int) -> Response:
    """The response that asks a client to wait: it calls too often, or something is away."""
    headers = {**NO_STORE, "Retry-After": str(wait)}
    return JSONResponse({"error": LATER[status]}, status, headers=headers)


def _caller(request: Request) -> Caller:
    caller: Caller = request.scope["caller"]
    return caller


def _actor(request: Request) -> Actor:
    """The app behind a request, as the audit log names it."""
    caller = _caller(request)
    return Actor("app", caller.network, caller.client)

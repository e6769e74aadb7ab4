"""The token endpoint (RFC 6749 section 3.2): exchanges codes and refresh tokens for new tokens."""

from __future__ import annotations

import re

from authlib.oauth2.rfc6749.errors import InvalidGrantError, InvalidRequestError, OAuth2Error
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from starlette.requests import Request
from starlette.responses import Response

from oauth.clients import Clients, actor_of
from oauth.forms import read_form, required
from oauth.metadata import GRANT_TYPES, ProtectedResource, granted_scope
from oauth.responses import json_response
from store.accounts.audit import Actor
from store.accounts.clients import Client
from store.accounts.credentials import LIFETIMES, Kind
from store.accounts.tokens import Pair, Tokens

CODE_VERIFIER = re.compile(r"[A-Za-z0-9._~-]{43,128}")
"""RFC 7636 section 4.1."""


class TokenEndpoint:
    """Answers POST /oauth/token."""

    def __init__(self, clients: Clients, tokens: Tokens, resource: ProtectedResource) -> None:
        self._clients = clients
        self._tokens = tokens
        self._resource = resource

    async def respond(self, request: Request) -> Response:
        form = await read_form(request)
        grant_type = required(form, "grant_type")
        if grant_type not in GRANT_TYPES:
            raise OAuth2Error("This grant type is not offered.", error="unsupported_grant_type")
        client = await self._clients.authenticate(request, form)
        # Checked first, so that a wrong target uses up neither code nor token (RFC 8707).
        if not self._resource.is_named_by(form.get("resource")):
            raise OAuth2Error("The resource is not this service.", error="invalid_target")
        exchange = self._redeem if grant_type == "authorization_code" else self._rotate
        pair = await exchange(form, client, actor_of(request))
        if pair is None:
            raise InvalidGrantError("It is expired, used, revoked or not yours. Sign in again.")
        return json_response(
            {
                "access_token": pair.access,
                "token_type": "Bearer",
                "expires_in": int(LIFETIMES[Kind.ACCESS].total_seconds()),
                "refresh_token": pair.refresh,
                "scope": granted_scope(None),
            }
        )

    async def _redeem(self, form: dict[str, str], client: Client, actor: Actor) -> Pair | None:
        code = required(form, "code")
        verifier = required(form, "code_verifier")
        if not CODE_VERIFIER.fullmatch(verifier):
            raise InvalidRequestError("code_verifier must have 43 to 128 unreserved characters.")
        challenge = create_s256_code_challenge(verifier)
        return await self._tokens.redeem(
            code, client.client_id, challenge, form.get("redirect_uri"), actor=actor
        )

    async def _rotate(self, form: dict[str, str], client: Client, actor: Actor) -> Pair | None:
        refresh_token = required(form, "refresh_token")
        granted_scope(form.get("scope"))
        return await self._tokens.rotate(refresh_token, client.client_id, actor=actor)

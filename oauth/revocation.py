"""The revocation endpoint (RFC 7009): to revoke a token of either kind ends its whole grant."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from oauth.clients import Clients, actor_of
from oauth.forms import read_form, required
from oauth.responses import NO_STORE
from store.accounts.tokens import Tokens


class RevocationEndpoint:
    """Answers POST /oauth/revoke."""

    def __init__(self, clients: Clients, tokens: Tokens) -> None:
        self._clients = clients
        self._tokens = tokens

    async def respond(self, request: Request) -> Response:
        form = await read_form(request)
        client = await self._clients.authenticate(request, form)
        # The hint is not needed, and a wrong one does no harm (RFC 7009 section 2.1).
        token = required(form, "token")
        await self._tokens.revoke(token, client.client_id, actor=actor_of(request))
        return Response(headers=NO_STORE)

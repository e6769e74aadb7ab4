"""The revocation endpoint (RFC 7009): a token of either kind ends its whole grant."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from oauth.answers import NO_STORE
from oauth.clients import authenticate
from oauth.forms import read_form, required
from store.grants import Grants
from store.tokens import Tokens


class RevocationEndpoint:
    """Answers POST /oauth/revoke."""

    def __init__(self, grants: Grants, tokens: Tokens) -> None:
        self._grants = grants
        self._tokens = tokens

    async def answer(self, request: Request) -> Response:
        form = await read_form(request)
        client = await authenticate(request, form, self._grants)
        # The hint is not needed, and a wrong one does no harm (RFC 7009 section 2.1).
        await self._tokens.revoke(required(form, "token"), client.client_id)
        return Response(headers=NO_STORE)

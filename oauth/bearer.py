"""Bearer: finds out who is calling, by the Authorization field (RFC 6750 section 2.1).

A credential counts nowhere else. A bad one is no error here: each surface answers it in its own
way.
"""

from __future__ import annotations

import logging

from mcp_server.calls.callers import Caller
from mcp_server.http.requests import Scope
from store.accounts.principals import Principals
from store.errors import DatabaseError

MAX_CREDENTIAL = 512
"""Most bytes of an Authorization field that is read."""

log = logging.getLogger(__name__)


class Bearer:
    """Finds callers; passed to the surfaces, which ask only where an operation is."""

    def __init__(self, principals: Principals) -> None:
        self._principals = principals

    async def identify(self, scope: Scope) -> Caller:
        """The caller of a request, with what the credential in its header stands for."""
        caller: Caller = scope["caller"]
        credentials = scope["fields"].get(b"authorization")
        if credentials is None:
            return caller
        parts = credentials.split() if len(credentials) <= MAX_CREDENTIAL else []
        # The scheme is case-insensitive (RFC 9110 section 11.1); two fields are no credential.
        if len(parts) != 2 or parts[0].lower() != b"bearer" or not parts[1].isascii():
            return caller._replace(refused="token")
        token = parts[1].decode("ascii")
        try:
            principal = await self._principals.find(token)
        except DatabaseError as error:
            # Never reported as a bad credential, because hosts then delete their tokens.
            log.warning("A credential was not looked up: %s", error)
            return caller._replace(refused="unavailable")
        if principal is None:
            return caller._replace(refused=self._principals.kind(token))
        return Caller(caller.address, principal, None, caller.client)

"""Sign-in of the Python SDK, in its first and second major version."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientMetadata
from order import Order, hear, say

try:
    from mcp.shared.auth import AuthorizationCodeResult
except ImportError:  # the first major version wants a pair
    AuthorizationCodeResult = None

CALLBACK = "http://127.0.0.1:4321/callback"


class Kept:
    """Where tokens are kept."""

    def __init__(self) -> None:
        self._tokens: Any = None
        self._client: Any = None

    async def get_tokens(self) -> Any:
        return self._tokens

    async def set_tokens(self, tokens: Any) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> Any:
        return self._client

    async def set_client_info(self, client_info: Any) -> None:
        self._client = client_info


class SignIn:
    """The sign-in of a host, if it is to sign in."""

    def __init__(self, given: Order, name: str) -> None:
        self._given, self._name, self._kept = given, name, Kept()
        self.restart()

    def restart(self) -> None:
        """Begin anew with the kept tokens."""
        given = self._given
        self.auth = provider(given.url, self._name, self._kept) if given.sign_in else None


def provider(url: str, name: str, kept: Kept) -> OAuthClientProvider:
    """The SDK's sign-in over some kept tokens."""

    async def visit(address: str) -> None:
        say(visit=address)

    async def returned() -> Any:
        query = parse_qs(urlsplit(await hear()).query)
        found = {name: values[0] for name, values in query.items()}
        if AuthorizationCodeResult is None:
            return found["code"], found.get("state")
        return AuthorizationCodeResult(**found)

    metadata = OAuthClientMetadata.model_validate(
        {"client_name": name, "redirect_uris": [CALLBACK]}
    )
    return OAuthClientProvider(url, metadata, kept, visit, returned)

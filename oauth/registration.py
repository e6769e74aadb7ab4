"""The registration endpoint (RFC 7591): any app may register, and nobody verifies what it says.

So its name is cleaned, its redirect addresses must pass `oauth.redirects`, and web addresses that
it names are neither kept nor shown. Each network address may register only so many apps a minute.
"""

from __future__ import annotations

import logging
from typing import Any

from authlib.oauth2.rfc6749.errors import OAuth2Error
from starlette.requests import Request
from starlette.responses import Response

from mcp_server.operations.callers import Caller
from mcp_server.operations.decoding import JsonError, decode
from oauth.forms import body_of
from oauth.metadata import AUTH_METHODS, GRANT_TYPES, SCOPE
from oauth.names import clean
from oauth.quota import Quota
from oauth.redirects import destination, is_acceptable
from oauth.responses import json_response, too_many
from store.accounts.clients import Client
from store.accounts.credentials import new_client_id, new_client_secret
from store.accounts.grants import Grants

REGISTERED = (
    *("redirect_uris", "client_name", "token_endpoint_auth_method"),
    *("grant_types", "response_types", "scope"),
)
"""The fields that are kept and answered."""

MAX_NAME = 200
MAX_REDIRECTS = 20
MAX_BYTES = 4096
"""Most bytes that are kept of a client: its name and its redirect addresses."""

log = logging.getLogger(__name__)


class InvalidRedirectURIError(OAuth2Error):  # type: ignore[misc] # authlib has no types
    """A redirect address is unusable, or there is none. Authlib's own errors of RFC 7591 load
    signatures and keys, which nothing here needs.
    """

    error = "invalid_redirect_uri"


class InvalidClientMetadataError(OAuth2Error):  # type: ignore[misc]
    """Another field of a client is unusable."""

    error = "invalid_client_metadata"


class RegistrationEndpoint:
    """Answers POST /oauth/register."""

    def __init__(self, grants: Grants, quota: Quota) -> None:
        self._grants = grants
        self._quota = quota

    async def respond(self, request: Request) -> Response:
        caller: Caller = request.scope["caller"]
        wait = await self._quota.seconds_to_wait(caller.network)
        if wait is not None:
            log.warning("Registrations from %s are refused for now: too many.", caller.network)
            return too_many(wait)
        metadata = ClientMetadata(parse_object(await body_of(request)))
        metadata.validate()
        method = metadata["token_endpoint_auth_method"]
        secret = None if method == "none" else new_client_secret()
        client = await self._grants.add_client(
            new_client_id(),
            metadata["client_name"],
            tuple(metadata["redirect_uris"]),
            auth_method=method,
            secret=secret,
            network=caller.network,
        )
        return json_response(_registered(client, metadata, secret), 201)


class ClientMetadata(dict[str, Any]):
    """The metadata that a client sends; after `validate`, the metadata that it is registered with.

    A value that is not offered is replaced if RFC 7591 section 3.2.1 allows it and hosts commonly
    send it (grant types, scope); otherwise it is refused.
    """

    def validate(self) -> None:
        """Check and complete every field that is kept.

        Raises:
            InvalidRedirectURIError: an address is unusable, or there is none.
            InvalidClientMetadataError: another field is unusable.
        """
        self.validate_redirect_uris()
        self.validate_client_name()
        self.validate_size()
        self.validate_token_endpoint_auth_method()
        self["grant_types"] = self._offered("grant_types", GRANT_TYPES)
        self["response_types"] = self._offered("response_types", ("code",))
        if not isinstance(self.get("scope", ""), str):
            raise InvalidClientMetadataError("scope must be a string.")
        self["scope"] = SCOPE

    def validate_redirect_uris(self) -> None:
        uris = self.get("redirect_uris")
        if not isinstance(uris, list) or not 0 < len(uris) <= MAX_REDIRECTS:
            raise InvalidRedirectURIError(f"Name 1 to {MAX_REDIRECTS} redirect_uris.")
        if not all(is_acceptable(uri) for uri in uris):
            raise InvalidRedirectURIError(
                "Use loopback http, https or an app scheme, without userinfo or fragment."
            )

    def validate_client_name(self) -> None:
        name = self.get("client_name", "")
        if not isinstance(name, str) or len(name) > MAX_NAME:
            raise InvalidClientMetadataError(
                f"client_name must have at most {MAX_NAME} characters."
            )
        self["client_name"] = clean(name) or destination(self["redirect_uris"][0])

    def validate_size(self) -> None:
        kept = (self["client_name"], *self["redirect_uris"])
        if sum(len(text.encode()) for text in kept) > MAX_BYTES:
            raise InvalidClientMetadataError(
                f"client_name and redirect_uris must have at most {MAX_BYTES} bytes together."
            )

    def validate_token_endpoint_auth_method(self) -> None:
        # The RFC's default is Basic. Ours is `none`, because hosts that state no method expect it.
        method = self.setdefault("token_endpoint_auth_method", "none")
        if method not in AUTH_METHODS:
            raise InvalidClientMetadataError("This token_endpoint_auth_method is not offered.")

    def _offered(self, field: str, offered: tuple[str, ...]) -> list[str]:
        """The values of a field that are offered; the first offered one must be among them."""
        asked = self.get(field, list(offered))
        if not isinstance(asked, list) or offered[0] not in asked:
            raise InvalidClientMetadataError(f"{field} must be a list with {offered[0]} in it.")
        return [value for value in offered if value in asked]


def parse_object(body: bytes) -> dict[str, Any]:
    """The JSON object with a client's metadata.

    Raises:
        InvalidClientMetadataError: the body is not a JSON object.
    """
    try:
        content = decode(body)
    except JsonError as error:
        raise InvalidClientMetadataError(f"The body is {error}.") from error
    if not isinstance(content, dict):
        raise InvalidClientMetadataError("The body must be a JSON object.")
    return content


def _registered(client: Client, metadata: ClientMetadata, secret: str | None) -> dict[str, Any]:
    """The client information response (RFC 7591 section 3.2.1)."""
    response = {
        **{name: metadata[name] for name in REGISTERED},
        "client_id": client.client_id,
        "client_id_issued_at": int(client.created_at.timestamp()),
    }
    if secret is not None:
        response |= {"client_secret": secret, "client_secret_expires_at": 0}
    return response

"""Registration (RFC 7591): any app may register, and nobody verifies what it says of itself.

So its name is cleaned, its redirect addresses must pass `oauth.redirects`, and web addresses that
it names are neither kept nor shown. Each network address may introduce only so many apps a minute.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

from authlib.oauth2.rfc6749.errors import OAuth2Error

from mcp_server.calls.decoding import JsonError, decode
from mcp_server.calls.errors import ApiError
from mcp_server.limits.limits import Limiter
from oauth.metadata import AUTH_METHODS, GRANT_TYPES, SCOPE
from oauth.names import clean
from oauth.redirects import destination, is_acceptable

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


class ClientMetadata(NamedTuple):
    """What a client is registered with: the fields that are kept or answered."""

    redirect_uris: list[str]
    client_name: str
    token_endpoint_auth_method: str
    grant_types: list[str]
    response_types: list[str]
    scope: str = SCOPE


async def admit(limiter: Limiter, network: str) -> None:
    """Count an app that a network introduces, by registration or by client document.

    Raises:
        ApiError: `rate_limited`, with the seconds to wait; `unavailable`.
    """
    try:
        await limiter.count_app(network)
    except ApiError as error:
        if error.code == "rate_limited":
            log.warning("Registrations from %s are refused for now: too many.", network)
        raise


def parse_object(body: bytes) -> dict[str, Any]:
    """The JSON object with the metadata that a client states.

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


def checked(stated: Mapping[str, Any]) -> ClientMetadata:
    """The metadata that a client states, checked and completed.

    A value that is not offered is replaced if RFC 7591 section 3.2.1 allows it and hosts commonly
    send it (grant types, scope); otherwise it is refused.

    Raises:
        InvalidRedirectURIError: an address is unusable, or there is none.
        InvalidClientMetadataError: another field is unusable.
    """
    # Hosts send null or nothing for what they do not state.
    stated = {name: value for name, value in stated.items() if value not in (None, "", [])}
    uris = _redirect_uris(stated.get("redirect_uris"))
    name = _name(stated.get("client_name", ""), uris)
    # The RFC's default is Basic. Ours is `none`, because hosts that state no method expect it.
    method = stated.get("token_endpoint_auth_method", "none")
    if method not in AUTH_METHODS:
        raise InvalidClientMetadataError("This token_endpoint_auth_method is not offered.")
    grant_types = _offered(stated, "grant_types", GRANT_TYPES)
    response_types = _offered(stated, "response_types", ("code",))
    if not isinstance(stated.get("scope", ""), str):
        raise InvalidClientMetadataError("scope must be a string.")
    return ClientMetadata(uris, name, method, grant_types, response_types)


def _redirect_uris(uris: object) -> list[str]:
    if not isinstance(uris, list) or not 0 < len(uris) <= MAX_REDIRECTS:
        raise InvalidRedirectURIError(f"Name 1 to {MAX_REDIRECTS} redirect_uris.")
    if not all(is_acceptable(uri) for uri in uris):
        raise InvalidRedirectURIError(
            "Use loopback http, https or an app scheme, without userinfo or fragment."
        )
    return uris


def _name(name: object, uris: list[str]) -> str:
    if not isinstance(name, str) or len(name) > MAX_NAME:
        raise InvalidClientMetadataError(f"client_name must have at most {MAX_NAME} characters.")
    name = clean(name) or destination(uris[0])
    if sum(len(text.encode()) for text in (name, *uris)) > MAX_BYTES:
        raise InvalidClientMetadataError(
            f"client_name and redirect_uris must have at most {MAX_BYTES} bytes together."
        )
    return name


def _offered(stated: Mapping[str, Any], field: str, offered: tuple[str, ...]) -> list[str]:
    """The values of a field that are offered; the first offered one must be among them."""
    asked = stated.get(field, list(offered))
    if not isinstance(asked, list) or offered[0] not in asked:
        raise InvalidClientMetadataError(f"{field} must be a list with {offered[0]} in it.")
    return [value for value in offered if value in asked]

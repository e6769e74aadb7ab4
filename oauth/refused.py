"""Refused: the errors of registration (RFC 7591) and of request objects (RFC 9101).

They are authlib's, written again: it loads signatures and keys beside its own, which nothing here
needs.
"""

from __future__ import annotations

from authlib.oauth2.rfc6749.errors import OAuth2Error


class InvalidRedirectURIError(OAuth2Error):  # type: ignore[misc] # authlib has no types
    """A redirect address is unusable, or there is none."""

    error = "invalid_redirect_uri"


class InvalidClientMetadataError(OAuth2Error):  # type: ignore[misc]
    """Another field of a client is unusable."""

    error = "invalid_client_metadata"


class RequestNotSupportedError(OAuth2Error):  # type: ignore[misc]
    """A request object was sent."""

    error = "request_not_supported"
    description = "The authorization server does not support the use of the request parameter."


class RequestUriNotSupportedError(OAuth2Error):  # type: ignore[misc]
    """The address of a request object was sent."""

    error = "request_uri_not_supported"
    description = "The authorization server does not support the use of the request_uri parameter."

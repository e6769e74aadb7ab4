"""Metadata of the protected resource (RFC 9728) and of the authorization server (RFC 8414), and the
challenge that leads there: the responses of an MCP address before any JSON-RPC is read.

Metadata is built from the configured public address alone, never from a request's headers. The
SDK's route helper is not used: it appends a slash to the issuer, which breaks exact comparison.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from authlib.common.security import is_secure_transport
from authlib.oauth2 import rfc8414, rfc9207
from authlib.oauth2.rfc6749.errors import InvalidScopeError, OAuth2Error

from mcp_server.calls.callers import Caller
from mcp_server.calls.errors import ApiError, no_access
from mcp_server.http.requests import Scope, prefers_html
from mcp_server.http.responses import HttpResponse, error_response, response
from mcp_server.operations.services import Services
from mcp_server.presentation.identity import TITLE
from mcp_server.presentation.offer import PRIVACY_PATH, TERMS_PATH, Offer
from oauth.bearer import Bearer

SCOPE = "patterns"
"""The single scope: everything the account's key can do."""

AUTH_METHODS = ("none", "client_secret_basic", "client_secret_post")
GRANT_TYPES = ("authorization_code", "refresh_token")

RESOURCE_METADATA_ROOT = "/.well-known/oauth-protected-resource"
SERVER_METADATA_PATH = "/.well-known/oauth-authorization-server"

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>A URL for agents</title>
<h1>This URL is for agents</h1>
<p>It speaks MCP and has no page of its own. Add it to a host such as Claude, which then asks you
to sign in.</p>
<p><a href="{docs_url}">How to connect it</a></p>
</html>
"""
"""The page for a person who opens the address in a browser."""

HTML = "text/html; charset=utf-8"
POLICY = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ProtectedResource:
    """An MCP endpoint as a protected resource."""

    resource: str
    """The MCP address, byte for byte."""
    authorization_server: str
    """The issuer, without a trailing slash."""
    documentation: str
    others: tuple[str, ...] = ()
    """The addresses of the same service whose tokens are good here too, and the other way round."""

    @property
    def metadata_path(self) -> str:
        """The path of the metadata (RFC 9728 section 3.1)."""
        return RESOURCE_METADATA_ROOT + urlsplit(self.resource).path

    def metadata(self) -> dict[str, object]:
        """The metadata document (RFC 9728 section 2)."""
        return {
            "resource": self.resource,
            "authorization_servers": [self.authorization_server],
            "scopes_supported": [SCOPE],
            "bearer_methods_supported": ["header"],
            "resource_name": TITLE,
            "resource_documentation": self.documentation,
            "resource_policy_uri": self.authorization_server + PRIVACY_PATH,
            "resource_tos_uri": self.authorization_server + TERMS_PATH,
        }

    def challenge(self, error: str | None = None) -> str:
        """The WWW-Authenticate value (RFC 6750 section 3, RFC 9728 section 5.1)."""
        parts = [f'resource_metadata="{self.authorization_server}{self.metadata_path}"']
        if error is not None:
            parts.insert(0, f'error="{error}"')
        return "Bearer " + ", ".join(parts)

    def check_named(self, resource: str | None) -> None:
        """Check that a `resource` parameter (RFC 8707) is absent, this address, one of the others
        or their origin.

        Raises:
            OAuth2Error: `invalid_target`: it names something else.
        """
        if resource is None:
            return
        address = urlsplit(self.resource)
        known = (self.resource, *self.others, f"{address.scheme}://{address.netloc}")
        # Scheme and host are the same in any case (RFC 3986 section 6.2.2.1).
        scheme, slashes, rest = resource.partition("://")
        host, slash, path = rest.partition("/")
        plain = f"{scheme.lower()}{slashes}{host.lower()}{slash}{path}"
        if plain.removesuffix("/") not in known:
            raise OAuth2Error("The resource is not this service.", error="invalid_target")


def resources_of(offer: Offer) -> list[ProtectedResource]:
    """The protected resources of a service, the MCP address first; each knows the others."""
    urls = [offer.mcp_url, *([offer.extended_url] if offer.extended else [])]
    return [
        ProtectedResource(
            url, offer.public_url, offer.docs_url, tuple(other for other in urls if other != url)
        )
        for url in urls
    ]


def server_metadata(
    resource: ProtectedResource, *, client_documents: bool = False
) -> dict[str, object]:
    """The authorization server's metadata (RFC 8414 section 2, RFC 9207 section 3).

    With `client_documents` it states that an app may use a client document.

    Raises:
        ValueError: the metadata is not valid.
    """
    issuer = resource.authorization_server
    document = rfc8414.AuthorizationServerMetadata(
        issuer=issuer,
        authorization_endpoint=f"{issuer}/oauth/authorize",
        token_endpoint=f"{issuer}/oauth/token",
        registration_endpoint=f"{issuer}/oauth/register",
        revocation_endpoint=f"{issuer}/oauth/revoke",
        scopes_supported=[SCOPE],
        response_types_supported=["code"],
        response_modes_supported=["query"],
        grant_types_supported=list(GRANT_TYPES),
        token_endpoint_auth_methods_supported=list(AUTH_METHODS),
        revocation_endpoint_auth_methods_supported=list(AUTH_METHODS),
        code_challenge_methods_supported=["S256"],
        authorization_response_iss_parameter_supported=True,
        service_documentation=resource.documentation,
        op_policy_uri=issuer + PRIVACY_PATH,
        op_tos_uri=issuer + TERMS_PATH,
    )
    if client_documents:
        document["client_id_metadata_document_supported"] = True
    if is_secure_transport(issuer):
        document.validate(metadata_classes=[rfc9207.AuthorizationServerMetadata])
    else:
        # Keys work over plain http on a private network, but hosts refuse to sign in there.
        log.warning("Sign-in needs https: set SCREENER_PUBLIC_URL to an https address.")
    return dict(document)


def check_scope(asked: str | None) -> None:
    """Check that a request asks for the single scope or for none; it is granted no other.

    Raises:
        InvalidScopeError: the request does not ask for that scope (RFC 6749 section 3.3).
    """
    if asked is not None and SCOPE not in asked.split(" "):
        raise InvalidScopeError()


class Challenge:
    """Refuses anything but POST with 405, and with 401 and a challenge who must sign in.

    A bad API key passes: its tool calls fail as tool errors, so that a key never starts a sign-in.
    """

    def __init__(
        self,
        bearer: Bearer,
        resource: ProtectedResource,
        services: Services,
        *,
        keyless: bool = False,
    ) -> None:
        self.identify = bearer.identify
        self._resource = resource
        self._limiter = services.limiter
        self._docs_url = services.offer.docs_url
        self._keyless = keyless

    async def refuse(self, scope: Scope, caller: Caller) -> HttpResponse | None:
        """The refusal of a request without a live credential, or that is no POST; None if it may
        go on.

        Raises:
            ApiError: `rate_limited`, of what is no POST; refusals count for the address.
        """
        value = self._value(caller)
        if scope["method"] == "POST" and value is None:
            return None
        if scope["method"] != "POST":
            await self._limiter.count_other(caller, "refused")
            return self._not_allowed(scope["fields"], value)
        error = no_access(caller.refused, caller.sent)
        try:
            await self._limiter.count_other(caller, "refused")
        except ApiError as limited:  # who may not ask so often still learns where to sign in
            error = limited
        # A host that was given a key finds no address here at which it could ask to sign in.
        shown = {} if caller.is_key else {"WWW-Authenticate": value or ""}
        return error_response(error, self._docs_url, shown)

    def _value(self, caller: Caller) -> str | None:
        """The value of the challenge to a caller; None if there is none."""
        if caller.refused == "token":
            return self._resource.challenge("invalid_token")
        unknown = caller.refused is None and not self._keyless
        unusable = caller.refused == "no_bearer" and not caller.is_key
        if caller.principal is None and (unknown or unusable):
            return self._resource.challenge()
        return None

    def _not_allowed(self, fields: Mapping[bytes, bytes], challenge: str | None) -> HttpResponse:
        headers = {"Allow": "POST", "Vary": "Accept"}
        if challenge is not None and b"authorization" not in fields:
            headers["WWW-Authenticate"] = challenge
        if prefers_html(fields.get(b"accept", b"")):
            headers |= {"Cache-Control": "no-store", "Content-Security-Policy": POLICY}
            page = response(405, PAGE.format(docs_url=self._docs_url).encode(), HTML)
            page.headers += ((n.lower().encode(), v.encode()) for n, v in headers.items())
            return page
        error = ApiError(
            "method_not_allowed",
            "This is an MCP endpoint: it answers JSON-RPC over POST and keeps no session.",
            fix=f"Add this URL to an MCP client such as Claude; {self._docs_url} says how.",
        )
        return error_response(error, self._docs_url, headers)

"""The routes of the authorization server, without its pages."""

from __future__ import annotations

from collections.abc import Sequence

from starlette.routing import Route

from mcp_server.limits.limits import Limiter
from oauth.clients import Clients
from oauth.metadata import (
    RESOURCE_METADATA_ROOT,
    SERVER_METADATA_PATH,
    MetadataEndpoint,
    ProtectedResource,
    server_metadata,
)
from oauth.quota import Quota
from oauth.registration import RegistrationEndpoint
from oauth.responses import Endpoint, with_oauth_errors
from oauth.revocation import RevocationEndpoint
from oauth.tokens import TokenEndpoint
from store.accounts.grants import Grants
from store.accounts.tokens import Tokens


def oauth_routes(
    grants: Grants,
    tokens: Tokens,
    resource: ProtectedResource,
    others: Sequence[ProtectedResource],
    clients: Clients,
    quota: Quota,
    limiter: Limiter,
) -> list[Route]:
    """Discovery of this resource and the others, registration, tokens and revocation.

    /oauth/authorize belongs to the pages.
    """
    documents = {
        **{each.metadata_path: each.metadata() for each in (resource, *others)},
        # Some hosts request this address without reading the challenge.
        RESOURCE_METADATA_ROOT: resource.metadata(),
        SERVER_METADATA_PATH: server_metadata(resource, client_documents=clients.read_documents),
    }
    endpoints: dict[str, Endpoint] = {
        "/oauth/register": RegistrationEndpoint(grants, quota).respond,
        "/oauth/token": TokenEndpoint(clients, tokens, resource).respond,
        "/oauth/revoke": RevocationEndpoint(clients, tokens).respond,
    }
    return [
        *(Route(path, MetadataEndpoint(document).respond) for path, document in documents.items()),
        *(
            Route(path, with_oauth_errors(post, limiter), methods=["POST"])
            for path, post in endpoints.items()
        ),
    ]

"""Complete sign-ins with clients that need no Node: sign in, call a tool, refresh, call again."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

import anyio.to_thread
import httpx
import httpx2
import pytest
from authlib.integrations.httpx_client import AsyncOAuth2Client
from mcp.client import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)

from tests.hosts.people import approve
from tests.service import Service
from tests.web.browser import Browser
from tests.web.people import new_person, signed_in

CALLBACK = "http://127.0.0.1:4321/callback"


@pytest.fixture(scope="module")
def browser(service: Service) -> Browser:
    """The browser of a person who is signed in."""
    return signed_in(service, new_person(service))


def answer_of(location: str) -> dict[str, str]:
    """The parameters of a redirect."""
    return {name: values[0] for name, values in parse_qs(urlsplit(location).query).items()}


class Kept:
    """Where the Python SDK keeps its tokens."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


def provider(service: Service, browser: Browser, kept: Kept) -> OAuthClientProvider:
    """The Python SDK's sign-in, with the scripted browser as its person."""
    redirects: list[str] = []

    async def redirect(address: str) -> None:
        redirects.append(await anyio.to_thread.run_sync(approve, browser, address))

    async def callback() -> AuthorizationCodeResult:
        return AuthorizationCodeResult(**answer_of(redirects.pop()))

    metadata = OAuthClientMetadata.model_validate(
        {"client_name": "Python host", "redirect_uris": [CALLBACK]}
    )
    return OAuthClientProvider(service.mcp_url, metadata, kept, redirect, callback)


async def tracked(service: Service, auth: OAuthClientProvider) -> int:
    """How many tickers are tracked, asked through a tool."""
    async with httpx2.AsyncClient(auth=auth, timeout=30) as http:
        transport = streamable_http_client(service.mcp_url, http_client=http)
        async with Client(transport, mode="legacy") as client:
            result = await client.call_tool("list_tracked_tickers", {})
    count: int = result.structured_content["count"]
    return count


@pytest.mark.proves("AUTH-2")
async def test_the_python_sdk_signs_in_calls_and_refreshes(
    service: Service, browser: Browser
) -> None:
    kept = Kept()
    first = await tracked(service, provider(service, browser, kept))
    assert kept.tokens is not None
    before = kept.tokens
    # A token that the server does not know makes the SDK use its refresh token.
    kept.tokens = before.model_copy(update={"access_token": "unknown", "expires_in": -1})

    again = await tracked(service, provider(service, browser, kept))

    assert first == again == 0
    assert kept.tokens.access_token not in (before.access_token, "unknown")


@pytest.mark.proves("AUTH-2")
async def test_authlib_signs_in_calls_and_refreshes(service: Service, browser: Browser) -> None:
    registered = httpx.post(
        f"{service.url}/oauth/register",
        json={"client_name": "authlib", "redirect_uris": [CALLBACK]},
    ).json()
    metadata = httpx.get(f"{service.url}/.well-known/oauth-authorization-server").json()
    options = {"token_endpoint_auth_method": registered["token_endpoint_auth_method"]}
    async with AsyncOAuth2Client(
        registered["client_id"],
        registered.get("client_secret"),
        redirect_uri=CALLBACK,
        code_challenge_method="S256",
        **options,
    ) as client:
        verifier = "a" * 64
        address, state = client.create_authorization_url(
            metadata["authorization_endpoint"], code_verifier=verifier
        )
        location = await anyio.to_thread.run_sync(approve, browser, address)
        assert answer_of(location)["state"] == state
        endpoint = metadata["token_endpoint"]
        first = await client.fetch_token(
            endpoint, authorization_response=location, code_verifier=verifier
        )
        assert (await client.get(f"{service.base}/me")).json()["key"]["name"] == "authlib"
        second = await client.refresh_token(endpoint, first["refresh_token"])
        answer = await client.get(f"{service.base}/me")

    assert second["access_token"] != first["access_token"]
    assert answer.status_code == 200

"""A complete sign-in with a client of another author: sign in, call, refresh, call again."""

from __future__ import annotations

import anyio.to_thread
import httpx
import pytest
from authlib.integrations.httpx_client import AsyncOAuth2Client

from tests.oauth.conversation import answer_in
from tests.qa.hosts.people import approve
from tests.screener.web.people import new_person, signed_in
from tests.service import Service

CALLBACK = "http://127.0.0.1:4321/callback"


@pytest.mark.proves("AUTH-2")
async def test_authlib_signs_in_calls_and_refreshes(service: Service) -> None:
    browser = signed_in(service, new_person(service))
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
        assert answer_in(location)["state"] == [state]
        endpoint = metadata["token_endpoint"]
        first = await client.fetch_token(
            endpoint, authorization_response=location, code_verifier=verifier
        )
        assert (await client.get(f"{service.base}/me")).json()["key"]["name"] == "authlib"
        second = await client.refresh_token(endpoint, first["refresh_token"])
        answer = await client.get(f"{service.base}/me")

    assert second["access_token"] != first["access_token"]
    assert answer.status_code == 200

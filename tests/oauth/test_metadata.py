"""Discovery: the challenge and the two documents (RFC 9728, RFC 8414, RFC 9207)."""

from __future__ import annotations

import logging
from pathlib import Path

import httpx
import pytest

from oauth.metadata import ProtectedResource, server_metadata
from tests.service import Service, serving

RESOURCE = "/.well-known/oauth-protected-resource/mcp"
SERVER = "/.well-known/oauth-authorization-server"
DOCUMENTS = (RESOURCE, RESOURCE.removesuffix("/mcp"), SERVER)
EVIL = {
    "X-Forwarded-Host": "evil.example",
    "Forwarded": "host=evil.example",
    "Origin": "https://evil.example",
}


@pytest.mark.proves("OAUTH-server")
@pytest.mark.proves("OAUTH-discover", "OAUTH-resource")
def test_a_host_finds_the_way_from_the_challenge_to_the_endpoints(service: Service) -> None:
    challenge = httpx.post(service.mcp_url).headers["www-authenticate"]
    resource = httpx.get(service.url + RESOURCE).json()
    server = httpx.get(resource["authorization_servers"][0] + SERVER).json()

    assert challenge == f'Bearer resource_metadata="{service.url}{RESOURCE}"'
    assert resource["resource"] == service.mcp_url
    assert resource["authorization_servers"] == [service.url]
    assert resource["scopes_supported"] == ["patterns"]
    assert resource["bearer_methods_supported"] == ["header"]
    assert server["issuer"] == service.url


def test_the_server_says_what_it_offers(service: Service) -> None:
    server = httpx.get(service.url + SERVER).json()

    assert server["code_challenge_methods_supported"] == ["S256"]
    assert server["response_types_supported"] == ["code"]
    assert server["response_modes_supported"] == ["query"]
    assert server["grant_types_supported"] == ["authorization_code", "refresh_token"]
    assert server["scopes_supported"] == ["patterns"]
    assert server["authorization_response_iss_parameter_supported"] is True
    assert "none" in server["token_endpoint_auth_methods_supported"]
    for name in ("authorization", "token", "registration", "revocation"):
        assert server[f"{name}_endpoint"].startswith(f"{service.url}/oauth/")


@pytest.mark.parametrize("path", DOCUMENTS)
def test_a_document_is_json_that_caches_may_keep(service: Service, path: str) -> None:
    response = httpx.get(service.url + path)

    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    kept = 300 if path == SERVER else 3600
    assert response.headers["cache-control"] == f"public, max-age={kept}"


@pytest.mark.parametrize("path", [*DOCUMENTS, "/mcp"])
@pytest.mark.parametrize("host", [None, "evil.example"])
def test_no_header_of_a_request_is_reflected(service: Service, path: str, host: str | None) -> None:
    headers = {**EVIL, **({"Host": host} if host else {})}
    response = httpx.get(service.url + path, headers=headers)

    assert "evil" not in response.text
    assert "evil" not in str(response.headers)


def test_the_issuer_is_the_public_address_byte_for_byte(night: Path, tmp_path: Path) -> None:
    public = "https://screener.example.com"
    with serving(tmp_path, public_url=public) as service:
        server = httpx.get(service.url + SERVER).json()
        resource = httpx.get(service.url + RESOURCE).json()

    assert server["issuer"] == public
    assert resource["resource"] == f"{public}/mcp"
    assert resource["authorization_servers"] == [public]


def test_an_address_without_https_serves_keys_and_warns(
    caplog: pytest.LogCaptureFixture,
) -> None:
    plain = "http://192.168.1.5:8000"
    with caplog.at_level(logging.WARNING, "oauth.metadata"):
        document = server_metadata(ProtectedResource(f"{plain}/mcp", plain, f"{plain}/docs"))

    assert document["issuer"] == plain
    assert "SCREENER_PUBLIC_URL" in caplog.text

"""Complete sign-ins with hosts and clients of others: sign in, call a tool, refresh, call again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TextIO
from urllib.parse import parse_qs, urlsplit

import anyio
import anyio.to_thread
import httpx
import httpx2
import pytest
from authlib.integrations.httpx_client import AsyncOAuth2Client
from mcp.client import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)

from tests.service import Service
from tests.web.browser import Browser, Forms
from tests.web.people import new_person, signed_in

HERE = Path(__file__).parent
CALLBACK = "http://127.0.0.1:4321/callback"


@pytest.fixture(scope="module")
def browser(service: Service) -> Browser:
    """The browser of a person who is signed in."""
    return signed_in(service, new_person(service))


def approve(browser: Browser, address: str) -> str:
    """Open an authorization address and approve; the address it leads to."""
    forms = Forms(browser.get(address).text).found
    form = next(form for form in forms if ("decision", "approve") in form.buttons)
    location: str = browser.submit(form, decision="approve").headers["location"]
    return location


@pytest.fixture(scope="session")
def node_modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The hosts from npm."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("Node and npm are not installed")
    folder = tmp_path_factory.mktemp("node")
    shutil.copy(HERE / "package.json", folder)
    command = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--silent"]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=240, check=False)
    if done.returncode:
        pytest.skip("npm could not install the hosts")
    return folder / "node_modules"


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


@pytest.mark.engine
async def test_the_typescript_sdk_signs_in_calls_and_refreshes(
    service: Service, browser: Browser, node_modules: Path
) -> None:
    command = ["node", str(HERE / "typescript.mjs"), service.mcp_url, str(node_modules)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as host:
        assert host.stdin is not None
        assert host.stdout is not None
        address = await anyio.to_thread.run_sync(host.stdout.readline)
        location = await anyio.to_thread.run_sync(approve, browser, address.strip())
        host.stdin.write(f"{location}\n")
        host.stdin.flush()
        said = json.loads(await anyio.to_thread.run_sync(host.stdout.readline))
        assert await anyio.to_thread.run_sync(host.wait) == 0

    assert said == {"before": 0, "after": 0, "rotated": True}


@pytest.mark.engine
async def test_mcp_remote_signs_in_and_calls(
    service: Service, browser: Browser, node_modules: Path, tmp_path: Path
) -> None:
    node = shutil.which("node") or ""
    server = StdioServerParameters(
        command=node,
        args=[str(node_modules / "mcp-remote" / "dist" / "proxy.js"), service.mcp_url],
        # A folder of its own for tokens, and a PATH without a browser to open.
        env={"MCP_REMOTE_CONFIG_DIR": str(tmp_path), "PATH": str(Path(node).parent)},
    )
    reading, writing = os.pipe()
    with os.fdopen(reading) as said, os.fdopen(writing, "w") as errors:
        async with anyio.create_task_group() as group:
            group.start_soon(anyio.to_thread.run_sync, visit_when_asked, browser, said)
            async with Client(stdio_client(server, errlog=errors), mode="legacy") as client:
                result = await client.call_tool("list_tracked_tickers", {})
            errors.close()

    assert result.structured_content["count"] == 0


def visit_when_asked(browser: Browser, said: TextIO) -> None:
    """Open the address that mcp-remote asks its person to visit, once it listens for the answer."""
    address = ""
    for line in said:
        if "/oauth/authorize?" in line:
            address = line.strip()
        if "callback server running" in line:
            httpx.get(approve(browser, address))

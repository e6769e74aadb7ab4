"""Access tokens on both surfaces (RFC 6750), which must answer each token alike."""

from __future__ import annotations

from base64 import b64encode
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.types import Scope

from mcp_server.calls.callers import Caller
from mcp_server.http.application import Application
from oauth.bearer import Bearer
from screener.service.app import build_app
from screener.settings.settings import load_settings
from store.accounts.accounts import AccountPlan, Accounts
from store.accounts.credentials import LIFETIMES, CredentialKind
from store.accounts.keys import Keys
from store.accounts.principals import Principals
from store.accounts.tokens import Tokens
from store.accounts.watchlist import Watchlist
from store.database.changes import changes_of
from tests.accounts import accounts_in
from tests.agent import INITIALIZE, message
from tests.oauth.conversation import Host, LaterClock, new_host
from tests.screener.web.people import new_person, signed_in
from tests.service import Service, serving

FIRST = message("initialize", **INITIALIZE)
ACCEPT = {"Accept": "application/json, text/event-stream"}


def post_mcp(service: Service, headers: Any) -> httpx.Response:
    return httpx.post(service.mcp_url, json=FIRST, headers=headers, timeout=30)


def check_invalid_token(service: Service, response: httpx.Response) -> None:
    challenge = response.headers["www-authenticate"]
    metadata = f"{service.url}/.well-known/oauth-protected-resource/mcp"
    assert response.status_code == 401
    assert response.json()["error"] == "invalid_api_key"
    assert challenge == f'Bearer error="invalid_token", resource_metadata="{metadata}"'


def check_refused_everywhere(service: Service, token: str) -> None:
    check_invalid_token(service, service.get("/me", key=token))
    check_invalid_token(service, post_mcp(service, {**ACCEPT, "Authorization": f"Bearer {token}"}))


def test_limits_count_by_grant_and_not_by_token(tmp_path: Path) -> None:
    with serving(tmp_path, key_per_minute=2) as service:
        host = new_host(service)
        first, other = host.tokens(), host.tokens()
        service.get("/me", key=first["access_token"])
        second = host.refresh(first["refresh_token"]).json()
        service.get("/me", key=second["access_token"])

        assert service.get("/me", key=second["access_token"]).status_code == 429
        assert service.get("/me", key=other["access_token"]).status_code == 200


def test_a_damaged_token_and_garbage_are_invalid_tokens(host: Host, service: Service) -> None:
    token = host.tokens()["access_token"]
    garbage = ("garbage", "pso_at_" + "x" * 43, "x" * 4000, "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.")

    for damaged in (token[:-1], token + "x", token.swapcase(), token[7:], *garbage):
        check_refused_everywhere(service, damaged)


def test_a_token_counts_in_one_authorization_header_alone(host: Host, service: Service) -> None:
    token = host.tokens()["access_token"]
    me = f"{service.base}/me"
    elsewhere = [
        httpx.get(me, params={"access_token": token}),
        httpx.get(me, headers={"Cookie": f"access_token={token}; session={token}"}),
        httpx.get(me, headers={"X-API-Key": token}),
        httpx.put(f"{service.base}/tickers", data={"access_token": token}),
        httpx.get(me, headers=[("Authorization", f"Bearer {token}")] * 2),
    ]

    assert [response.status_code for response in elsewhere] == [401] * 5


def test_a_signed_in_browsers_cookie_opens_no_interface(service: Service) -> None:
    """Another site can make a browser send a cookie, but not an Authorization header."""
    browser = signed_in(service, new_person(service))

    assert browser.get("/keys").status_code == 200
    for answer in (
        browser.get("/api/v1/me"),
        browser.put("/api/v1/tickers", json={"symbols": ["AAPL"]}),
        browser.post("/mcp", json=FIRST, headers=ACCEPT),
    ):
        assert answer.status_code == 401
        assert answer.json()["error"] == "missing_api_key"


@pytest.mark.proves("AUTH-2")
def test_a_token_opens_mcp_and_no_session_id_is_issued_and_a_made_up_one_changes_nothing(
    host: Host, service: Service
) -> None:
    """No cookie can be stolen."""
    session = {**ACCEPT, "Mcp-Session-Id": "0f9d3c52a8f14a5f8a3ea0cbb0f1c7de"}
    token = {"Authorization": f"Bearer {host.tokens()['access_token']}"}
    opened, nobody = (post_mcp(service, {**session, **extra}) for extra in (token, {}))

    assert (opened.status_code, nobody.status_code) == (200, 401)
    assert "mcp-session-id" not in opened.headers


@pytest.mark.proves("OAUTH-expired", "LIM-access-token")
def test_a_token_that_was_used_until_its_end_is_an_invalid_token_from_then_on(
    tmp_path: Path,
) -> None:
    clock = LaterClock()
    with serving(tmp_path, clock=clock) as service:
        host = new_host(service)
        tokens = host.tokens()
        token = tokens["access_token"]
        headers = {**ACCEPT, "Authorization": f"Bearer {token}"}
        for later in (timedelta(0), LIFETIMES[CredentialKind.ACCESS] - timedelta(hours=1)):
            clock.later = later
            assert host.opens(token)
            assert post_mcp(service, headers).status_code == 200

        clock.later = LIFETIMES[CredentialKind.ACCESS]

        check_refused_everywhere(service, token)
        assert host.opens(host.refresh(tokens["refresh_token"]).json()["access_token"])
        clock.later = LIFETIMES[CredentialKind.ACCESS] + LIFETIMES[CredentialKind.REFRESH]
        assert host.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"


def test_an_api_key_never_starts_a_sign_in(service: Service) -> None:
    damaged = service.key[:-1]
    rest = service.get("/me", key=damaged)
    mcp = post_mcp(service, {**ACCEPT, "Authorization": f"Bearer {damaged}"})

    assert service.get("/me").status_code == 200
    assert (rest.status_code, rest.json()["error"]) == (401, "invalid_api_key")
    assert mcp.status_code == 200
    assert "www-authenticate" not in rest.headers
    assert "www-authenticate" not in mcp.headers


WRONG = {
    "{key}": "without the word Bearer",
    "ApiKey {key}": "the scheme ApiKey",
    'Bearer "{key}"': "in quotes",
    "Bearer '{key}'": "in quotes",
    'Bearer "{key}': "in quotes",
    "Bearer {key}`": "in quotes",
    "Bearer Bearer {key}": "more than one word",
    "Bearer {key},": "characters that no key has",
    "Bearer": "Bearer without a key",
    "Bearer $SCREENER_KEY": "a placeholder",
    "Bearer {{{{secrets.key}}}}": "a placeholder",
    "Bearer YOUR_API_KEY": "a placeholder",
    "Bearer <API_KEY>": "a placeholder",
    f"Bearer <{'x' * 62}>": "a placeholder",
    f"Bearer <{'x' * 63}>": "characters that no key has",
}
"""Authorization fields as people fill them in, and what the fix says of each."""


@pytest.mark.parametrize("sent", WRONG)
@pytest.mark.proves("AUTH-5-missing")
def test_without_a_usable_bearer_the_key_is_missing_and_the_fix_names_what_was_sent(
    service: Service, sent: str
) -> None:
    field = {"Authorization": sent.format(key=service.key)}
    rest = httpx.get(f"{service.base}/me", headers=field)
    keyless = httpx.get(f"{service.base}/families", headers=field)
    mcp = post_mcp(service, {**ACCEPT, **field})
    call = message("tools/call", name="list_tracked_tickers", arguments={})
    called = httpx.post(service.mcp_url, json=call, headers={**ACCEPT, **field})

    for answer in (rest, keyless):
        assert (answer.status_code, answer.json()["error"]) == (401, "missing_api_key")
        assert WRONG[sent] in answer.json()["fix"]
        assert "Authorization: Bearer <API_KEY>" in answer.json()["fix"]
        assert service.key not in answer.text
    if "{key}" in sent:  # a key never starts a sign-in
        assert mcp.status_code == called.status_code == 200
        assert "www-authenticate" not in called.headers
        text = called.json()["result"]["content"][0]["text"]
        assert text.startswith("missing_api_key:")
        assert WRONG[sent] in text
        assert service.key not in text
    else:
        assert (mcp.status_code, mcp.json()["error"]) == (401, "missing_api_key")
        assert "resource_metadata" in mcp.headers["www-authenticate"]
        assert "error=" not in mcp.headers["www-authenticate"]


@pytest.mark.parametrize(
    ("part", "name", "said"),
    [
        ("headers", "Api-Key", "the field api-key"),
        ("params", "apiKey", "a key in the address"),
        ("params", "token", "a key in the address"),
    ],
)
def test_a_key_elsewhere_is_not_read_and_does_not_start_a_sign_in(
    service: Service, part: str, name: str, said: str
) -> None:
    request: dict[str, Any] = {"headers": dict(ACCEPT), "params": {}}
    request[part][name] = service.key
    rest = httpx.get(f"{service.base}/me", **request)
    mcp = httpx.post(service.mcp_url, json=FIRST, timeout=30, **request)

    assert said in rest.json()["fix"]
    assert {each.status_code for each in (rest, mcp)} == {401}
    assert {each.json()["error"] for each in (rest, mcp)} == {"missing_api_key"}
    assert not mcp.headers.get("www-authenticate")


@pytest.mark.parametrize("part", ["{}:", ":{}", "user:{}"])
def test_a_key_in_a_basic_field_does_not_start_a_sign_in(service: Service, part: str) -> None:
    encoded = b64encode(part.format(service.key).encode()).decode()
    fields = {**ACCEPT, "Authorization": f"Basic {encoded}"}
    named = httpx.get(f"{service.base}/me", headers=fields)
    mcp = post_mcp(service, fields)

    assert (named.status_code, named.json()["error"]) == (401, "missing_api_key")
    assert "the scheme Basic" in named.json()["fix"]
    assert mcp.status_code == 200
    assert not mcp.headers.get("www-authenticate")


AGENT, NAMED = (b"user-agent", b"curl/8"), (b"x-service-client", b"notebook/2")
NAMES: tuple[tuple[list[tuple[bytes, bytes]], str], ...] = (
    ([], ""),
    ([AGENT], "curl/8"),
    ([AGENT, NAMED], "notebook/2"),
    ([NAMED, AGENT], "notebook/2"),
    ([(b"user-agent", b"x" * 200)], "x" * 200),
    ([(b"user-agent", b"x" * 201)], "x" * 200),
    ([(b"user-agent", "a\x07b\u00ad\u00e9".encode("latin-1"))], "ab\u00e9"),
    ([(b"accept", b"text/html")], ""),
)


async def read_at_the_edge(headers: list[tuple[bytes, bytes]], client: Any = None) -> Scope:
    """What a surface gets of a request with a header."""
    found: list[Scope] = []

    async def pages(scope: Scope, *_: Any) -> None:
        found.append(scope)

    async def nothing(*_: Any) -> Any:
        """Nothing is received or sent."""

    edge = Application(pages, at_once=8, is_https=False, docs_url="https://example.com/docs")
    request = {"type": "http", "http_version": "1.0", "method": "GET", "path": "/"}
    await edge(
        {**request, "query_string": b"", "headers": headers, "client": client}, nothing, nothing
    )
    return found[0]


@pytest.mark.parametrize("client", [("192.0.2.7", 1), None])
@pytest.mark.parametrize(("headers", "name"), NAMES)
async def test_a_caller_has_an_address_and_the_name_it_gives_itself(
    headers: list[tuple[bytes, bytes]], name: str, client: Any
) -> None:
    scope = await read_at_the_edge(headers, client)

    assert scope["caller"] == Caller(client[0] if client else "", client=name)


@pytest.mark.parametrize(
    ("credentials", "refused"),
    [
        ([], None),
        ([b"Bearer ps_live_unknown"], "key"),
        ([b"Bearer pso_at_unknown"], "token"),
        ([b"Bearer key-ps_live_unknown"], "key"),
        ([b"Basic KEY"], "no_bearer"),
        ([b"Basic =ps"], "no_bearer"),
        ([b"Token KEY"], "no_bearer"),
        ([b"Bearer" + b" " * 451 + b"KEY"], "key"),
        ([b"x" * 512], "no_bearer"),
        ([b"x" * 513], "token"),
        ([b"Bearer \xff"], "no_bearer"),
        ([b"Bearer"], "no_bearer"),
        ([b"Bearer KEY b"], "no_bearer"),
        ([b""], "no_bearer"),
        ([b"Bearer KEY, Bearer KEY"], "no_bearer"),
        ([b"Bearer KEY", b"Bearer KEY"], "no_bearer"),
        ([b"Bearer KEY"], "opens"),
        ([b"bEARER KEY"], "opens"),
        ([b" Bearer \t KEY "], "opens"),
        ([b"Bearer" + b" " * 450 + b"KEY"], "opens"),
    ],
)
async def test_one_well_formed_field_opens_the_account_of_a_live_key(
    tmp_path: Path, credentials: list[bytes], refused: Any
) -> None:
    """A field has at most 512 bytes."""
    async with accounts_in(tmp_path) as database:
        keys = Keys(database)
        parts = (Tokens(database), Watchlist(database), changes_of(database))
        await Accounts(database).add("ada@example.com", AccountPlan.PREMIUM)
        _, secret = await keys.create("ada@example.com", "laptop")
        sent = [(b"authorization", each.replace(b"KEY", secret.encode())) for each in credentials]
        scope = await read_at_the_edge([*sent, NAMED], ("192.0.2.7", 1))

        caller = await Bearer(Principals(keys, *parts)).identify(scope)

    assert caller.refused == (None if refused == "opens" else refused)
    assert (caller.principal is not None) is (refused == "opens")
    assert (caller.address, caller.client, caller.host) == ("192.0.2.7", "notebook/2", "")
    if caller.principal is not None:
        assert caller.principal.account.email == "ada@example.com"


NOWHERE = (("GET", "/api/v1/nowhere"), ("DELETE", "/api/v1/scan"), ("GET", "/mcp"), ("PUT", "/"))
"""Where no operation is, no credential is looked up."""


async def test_a_database_that_does_not_answer_is_never_taken_for_a_bad_credential(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    nowhere = tmp_path / "away" / "accounts.sqlite"
    settings = load_settings(data_dir=tmp_path, database_url=f"sqlite+aiosqlite:///{nowhere}")
    body = message("tools/call", name="list_tracked_tickers", arguments={})
    transport = httpx.ASGITransport(build_app(settings))
    headers = {**ACCEPT, "Authorization": "Bearer ps_live_a_key_or_none"}
    client = httpx.AsyncClient(transport=transport, base_url=settings.url, headers=headers)
    async with client:
        rest = await client.get("/api/v1/me")
        agent = await client.post("/mcp", json=body)
        unasked = [await client.request(method, path) for method, path in NOWHERE]
        del client.headers["Authorization"]
        keyless = await client.get("/api/v1/families")

    assert (rest.status_code, rest.json()["error"]) == (503, "unavailable")
    assert rest.headers["retry-after"] == "1"
    assert agent.json()["result"]["isError"]
    assert agent.json()["result"]["content"][0]["text"].startswith("unavailable:")
    assert "A credential was not looked up: The account database " in caplog.text
    assert {answer.status_code for answer in unasked} == {404, 405}
    assert keyless.status_code == 200

"""POST /oauth/token with a code (RFC 6749 section 4.1.3, RFC 7636 section 4.5)."""

from __future__ import annotations

import base64
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import pytest

from store.database import engines
from tests.oauth.conversation import CALLBACK, CHALLENGE, VERIFIER, Host, error_of, new_host
from tests.service import Service, serving

FORM = {"grant_type": "authorization_code", "code": "c", "code_verifier": VERIFIER}
BODY = urlencode(FORM).encode()


def post(service: Service, **options: object) -> httpx.Response:
    return httpx.post(f"{service.url}/oauth/token", timeout=60, **options)  # type: ignore[arg-type]


def basic(credentials: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(credentials.encode()).decode()}


@pytest.mark.proves("OAUTH-token", "LIM-access-token")
def test_a_code_becomes_a_pair_of_tokens_that_no_cache_keeps(host: Host) -> None:
    """This resource may be named."""
    response = host.exchange(host.code(), resource=host.service.mcp_url)

    assert response.status_code == 200
    assert response.headers["cache-control"] == "no-store"
    tokens = response.json()
    assert tokens["token_type"] == "Bearer"
    assert tokens["expires_in"] == 604_800
    assert tokens["scope"] == "patterns"
    assert tokens["access_token"].startswith("pso_at_")
    assert tokens["refresh_token"].startswith("pso_rt_")
    assert host.opens(tokens["access_token"])


def test_the_redirect_address_may_be_left_out_but_not_be_another(host: Host) -> None:
    code = host.code()
    other = "http://127.0.0.1:1/callback"

    assert error_of(host.exchange(code, redirect_uri=other)) == (400, "invalid_grant")
    assert host.exchange(code, redirect_uri=CALLBACK).status_code == 200
    assert host.exchange(host.code()).status_code == 200


def test_on_loopback_the_address_that_was_asked_for_counts(service: Service) -> None:
    host = new_host(service, redirect_uris=["http://localhost/callback"])
    asked = "http://localhost:49152/callback"
    location = host.approve(host.query(redirect_uri=asked))
    code = location.partition("code=")[2].partition("&")[0]

    assert location.startswith(asked + "?")
    assert host.exchange(code, redirect_uri=host.redirect_uri).status_code == 400
    assert host.exchange(code, redirect_uri=asked).status_code == 200


@pytest.mark.parametrize(
    ("verifier", "error"),
    [
        ("x" * 43, "invalid_grant"),
        (CHALLENGE, "invalid_grant"),
        (None, "invalid_request"),
        ("", "invalid_request"),
        (VERIFIER[:42], "invalid_request"),
        ("x" * 192, "invalid_request"),
        (VERIFIER + "\n", "invalid_request"),
        (VERIFIER[:-1] + "é", "invalid_request"),
    ],
)
def test_only_the_verifier_of_the_challenge_redeems(
    host: Host, verifier: str | None, error: str
) -> None:
    code = host.code()

    assert error_of(host.exchange(code, code_verifier=verifier)) == (400, error)
    assert host.exchange(code).status_code == 200


@pytest.mark.proves("OAUTH-replay")
def test_a_code_shown_again_revokes_everything_it_issued(host: Host) -> None:
    code = host.code()
    first = host.exchange(code).json()
    second = host.refresh(first["refresh_token"]).json()

    assert error_of(host.exchange(code)) == (400, "invalid_grant")
    assert not host.opens(second["access_token"])
    assert error_of(host.refresh(second["refresh_token"])) == (400, "invalid_grant")


def test_a_foreign_client_gets_nothing_and_revokes_nothing(service: Service, host: Host) -> None:
    foreign, code, refused = new_host(service), host.code(), (400, "invalid_grant")

    assert error_of(foreign.exchange(code)) == refused
    old = host.exchange(code).json()
    assert error_of(foreign.exchange(code)) == refused
    assert error_of(foreign.refresh(old["refresh_token"])) == refused
    new = host.refresh(old["refresh_token"]).json()
    assert error_of(foreign.refresh(old["refresh_token"])) == refused
    for kind in ("access_token", "refresh_token"):
        assert foreign.revoke(new[kind]).status_code == 200
    assert host.opens(new["access_token"])


FAULTS: dict[str, tuple[tuple[str, tuple[str | None, ...]], ...]] = {
    "invalid_request": (("grant_type", (None,)), ("code", (None,)), ("code_verifier", (None,))),
    "invalid_client": (("client_id", (None, "unknown", "\0")),),
    "invalid_grant": (("code", ("x", "\0")),),
    "invalid_target": (("resource", ("https://evil.example/mcp",)),),
    "unsupported_grant_type": (("grant_type", ("password", 'a "quoted" \\ grant é')),),
}


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        (name, value, error)
        for error, faults in FAULTS.items()
        for name, values in faults
        for value in values
    ],
)
def test_a_faulty_exchange_is_refused_and_costs_no_code(
    host: Host, name: str, value: str | None, error: str
) -> None:
    code = host.code()

    assert error_of(host.exchange(code, **{name: value})) == (400, error)
    assert host.exchange(code).status_code == 200


@pytest.mark.parametrize("name", [*FORM, "client_id", "anything"])
def test_a_parameter_twice_is_refused(host: Host, service: Service, name: str) -> None:
    form = {**FORM, "code": host.code(), "client_id": host.client_id, "anything": "1"}
    pairs = [*form.items(), (name, form[name])]
    body = urlencode(pairs)
    headers = {"Content-Type": "application/x-www-form-urlencoded"}

    assert error_of(post(service, content=body, headers=headers)) == (400, "invalid_request")


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE"])
@pytest.mark.parametrize("path", ["/oauth/token", "/oauth/register", "/oauth/revoke"])
def test_only_post_is_offered(service: Service, method: str, path: str) -> None:
    response = httpx.request(method, service.url + path)

    assert response.status_code == 405
    assert response.headers["allow"] == "POST"


@pytest.mark.parametrize(
    ("options", "status"),
    [
        *(({"params": FORM}, 400), ({"params": {"code": "c"}, "data": FORM}, 400)),
        *(({"json": FORM}, 400), ({"data": FORM, "files": {"file": b"x"}}, 400)),
        *(
            ({"content": BODY, "headers": kind}, 400)
            for kind in ({}, {"Content-Type": "text/plain"})
        ),
        ({"data": {**FORM, **{f"field{number}": "" for number in range(60)}}}, 400),
        ({"data": {**FORM, "code": "x" * 8_000_000}}, 413),
    ],
)
def test_only_a_small_form_in_the_body_is_read(
    service: Service, options: dict[str, Any], status: int
) -> None:
    """What is read would be told that it names no client."""
    assert error_of(post(service, data=FORM)) == (400, "invalid_client")
    assert error_of(post(service, **options)) == (status, "invalid_request")


@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic"])
def test_a_client_with_a_secret_must_prove_it(service: Service, method: str) -> None:
    """Hashes are compared, so a secret of any length and any characters can be checked."""
    host = new_host(service, token_endpoint_auth_method=method)
    code = host.code()
    form = {**FORM, "code": code}
    wrong = basic(f"{host.client_id}:wrong")
    right = basic(f"{host.client_id}:{host.secret}")

    assert error_of(host.exchange(code, client_secret=None)) == (400, "invalid_client")
    for wrong_secret in ("wrong", "é", "x" * 5000, f"{host.secret}x", str(host.secret)[:-1]):
        refused = host.exchange(code, client_secret=wrong_secret)
        assert error_of(refused) == (400, "invalid_client")
    refused = post(service, data=form, headers=wrong)
    assert error_of(refused) == (401, "invalid_client")
    assert refused.headers["www-authenticate"].startswith("Basic ")
    assert post(service, data=form, headers=right).status_code == 200
    assert host.exchange(host.code()).status_code == 200


@pytest.mark.parametrize(
    "header",
    [
        *("Basic", "Basic !!!", "Basic é"),
        *("basic " + base64.b64encode(one).decode() for one in (b"\xff\xfe:\xff", b"no", b":")),
    ],
)
def test_a_malformed_basic_header_is_refused(service: Service, header: str) -> None:
    headers = [(b"authorization", header.encode("latin-1"))]
    answer = post(service, data=FORM, headers=headers)

    assert error_of(answer) == (401, "invalid_client")


def test_a_client_named_in_two_ways_is_refused(host: Host, service: Service) -> None:
    twice = [("Authorization", "Basic eDp5"), ("Authorization", "Basic eDp5")]
    form = {**FORM, "client_id": host.client_id}

    assert error_of(post(service, data=form, headers=basic("other:x"))) == (400, "invalid_request")
    assert error_of(post(service, data=FORM, headers=twice)) == (400, "invalid_request")


def test_a_secret_of_a_public_client_is_ignored(host: Host) -> None:
    assert host.exchange(host.code(), client_secret="anything").status_code == 200


def test_cookies_are_neither_read_nor_set(host: Host, service: Service) -> None:
    form = {**FORM, "code": host.code(), "client_id": host.client_id}
    response = post(service, data=form, headers={"Cookie": "session=x"})

    assert response.status_code == 200
    assert "set-cookie" not in response.headers


def test_the_audit_log_says_from_where_an_app_got_reused_and_gave_back_its_tokens(
    tmp_path: Path,
) -> None:
    with serving(tmp_path) as service:
        host = new_host(service)
        replayed, code = host.tokens(), host.code()
        host.refresh(replayed["refresh_token"])
        host.refresh(replayed["refresh_token"])
        tokens = host.exchange(code).json()
        host.exchange(code)
        host.revoke(tokens["access_token"])
        host.revoke(host.tokens()["access_token"])

    with closing(sqlite3.connect(tmp_path / "accounts.sqlite")) as accounts:
        rows = accounts.execute("SELECT kind, actor, network, agent FROM audit").fetchall()
    done = {kind: tuple(who) for kind, *who in rows if kind.startswith(("token", "app_revoked"))}
    agent = httpx.Client().headers["user-agent"]
    assert done == dict.fromkeys(
        ("tokens_issued", "token_reused", "app_revoked"), ("app", "127.0.0.1", agent)
    )
    assert [kind for kind, *_ in rows].count("token_reused") == 2


def test_a_guess_neither_waits_for_a_writer_nor_becomes_one(tmp_path: Path) -> None:
    with serving(tmp_path) as service:
        host = new_host(service)
        with closing(sqlite3.connect(tmp_path / "accounts.sqlite", isolation_level=None)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            answers = [host.exchange("guess"), host.refresh("guess"), host.revoke("guess")]

    assert [answer.status_code for answer in answers] == [400, 400, 200]


def test_a_busy_database_is_never_taken_for_a_bad_credential(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "BUSY_SECONDS", 0.1)
    with serving(tmp_path) as service:
        host = new_host(service)
        tokens, code = host.tokens(), host.code()
        with closing(sqlite3.connect(tmp_path / "accounts.sqlite", isolation_level=None)) as writer:
            writer.execute("BEGIN IMMEDIATE")
            refused = [
                host.exchange(code),
                host.refresh(tokens["refresh_token"]),
                host.revoke(tokens["access_token"]),
            ]

        assert [error_of(one) for one in refused] == [(503, "temporarily_unavailable")] * 3
        assert all(one.headers["retry-after"] == "1" for one in refused)
        assert host.exchange(code).status_code == 200
        assert host.refresh(tokens["refresh_token"]).status_code == 200

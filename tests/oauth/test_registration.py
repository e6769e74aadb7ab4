"""POST /oauth/register (RFC 7591, RFC 8252 section 7)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.oauth.conversation import CALLBACK, error_of, register
from tests.service import Service, serving


@pytest.fixture(scope="module")
def url(service: Service) -> str:
    return f"{service.url}/oauth/register"


LINKS = dict.fromkeys(("logo_uri", "client_uri", "policy_uri", "tos_uri"), "javascript:alert(1)")
RANK = {"client_id": "mine", "is_admin": True, "trusted": True}


@pytest.mark.proves("OAUTH-register")
@pytest.mark.parametrize("stated", [{}, {"token_endpoint_auth_method": "none"}, {**LINKS, **RANK}])
def test_a_public_client_gets_an_id_and_no_secret_and_nothing_that_it_gives_itself(
    service: Service, stated: dict[str, Any]
) -> None:
    response = register(service, **stated)
    client = response.json()

    assert response.status_code == 201
    assert response.headers["cache-control"] == "no-store"
    assert client.pop("client_id") not in ("", "mine")
    assert client.pop("client_id_issued_at") > 0
    assert client == {
        "client_name": "Test host",
        "redirect_uris": [CALLBACK],
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "scope": "patterns",
    }


@pytest.mark.parametrize("method", ["client_secret_post", "client_secret_basic"])
def test_a_client_that_insists_gets_a_secret_of_unreserved_characters(
    service: Service, method: str
) -> None:
    client = register(service, token_endpoint_auth_method=method).json()

    assert client["token_endpoint_auth_method"] == method
    assert client["client_secret"].replace("_", "").isalnum()
    assert client["client_secret_expires_at"] == 0


@pytest.mark.proves("OAUTH-redirects")
def test_redirect_addresses_are_kept_byte_for_byte_if_all_are_sound(service: Service) -> None:
    """Which are sound is proven by test_redirects.py."""
    sound = ["cursor://x/cb", "https://app.example.com:8443/cb?x=1&y=%C3%A9", "http://[::1]"]
    response = register(service, redirect_uris=sound)

    assert response.status_code == 201
    assert response.json()["redirect_uris"] == sound
    both = register(service, redirect_uris=[*sound, "javascript:alert(1)"])
    assert error_of(both) == (400, "invalid_redirect_uri")


@pytest.mark.parametrize(
    "uris",
    [
        *([], None, CALLBACK, {"a": CALLBACK}, 7, [7], [None], [[CALLBACK]], [{}], True),
        [f"https://example.com/{number}" for number in range(21)],
    ],
)
def test_redirect_addresses_are_a_list_of_1_to_20_strings(service: Service, uris: object) -> None:
    assert error_of(register(service, redirect_uris=uris)) == (400, "invalid_redirect_uri")


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"{", b"[]", b"null", b'"text"', b"\xff\xfe"),
        b'{"client_name": "\\ud800", "redirect_uris": ["https://a.example/"]}',
        b'{"a":' * 5000 + b"1" + b"}" * 5000,
        b"[" * 20_000 + b"]" * 20_000,
    ],
)
def test_a_body_that_is_no_json_object_is_refused(url: str, body: bytes) -> None:
    assert error_of(httpx.post(url, content=body)) == (400, "invalid_client_metadata")


def test_a_huge_body_is_refused(url: str) -> None:
    assert httpx.post(url, content=b" " * 4 * 1024 * 1024, timeout=30).status_code == 413


@pytest.mark.parametrize("nothing", [None, "", []])
def test_a_member_that_says_nothing_counts_as_left_out(service: Service, nothing: object) -> None:
    left_out = register(service).json()
    names = (
        "client_name",
        "scope",
        "grant_types",
        "response_types",
        "contacts",
        "logo_uri",
        "jwks",
    )
    sent = register(service, **dict.fromkeys((*names, "token_endpoint_auth_method"), nothing))

    assert sent.status_code == 201
    told = sent.json()
    assert all(told.values())
    for name in ("scope", "grant_types", "response_types"):
        assert told[name] == left_out[name]
    assert told["token_endpoint_auth_method"] == "none"


REFUSED: dict[str, tuple[object, ...]] = {
    "client_name": (7, ["x"], "x" * 201),
    "grant_types": ("authorization_code", ["password"], ["client_credentials"], [{}]),
    "response_types": (["token"], "code"),
    "token_endpoint_auth_method": ("private_key_jwt", "nonsense", ["none"], {}),
    "scope": (7, ["patterns"]),
}


@pytest.mark.parametrize(
    ("field", "value"),
    [(field, value) for field, values in REFUSED.items() for value in values],
)
def test_metadata_that_cannot_be_honoured_is_refused(
    service: Service, field: str, value: object
) -> None:
    assert error_of(register(service, **{field: value})) == (400, "invalid_client_metadata")


def test_what_hosts_ask_for_out_of_habit_is_replaced(service: Service) -> None:
    device = "urn:ietf:params:oauth:grant-type:device_code"
    grant_types = ["authorization_code", "refresh_token", device]
    client = register(service, grant_types=grant_types, scope="patterns admin").json()

    assert client["grant_types"] == ["authorization_code", "refresh_token"]
    assert client["scope"] == "patterns"


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("Claude\u202e\u200b\0 Desktop\n", "Claude Desktop"),
        ("Ünïcode 名前", "Ünïcode 名前"),
        ("\u200b\u2066", "127.0.0.1 (this computer)"),
        ("", "127.0.0.1 (this computer)"),
    ],
)
def test_a_name_is_cleaned_of_what_cannot_be_seen(service: Service, name: str, kept: str) -> None:
    assert register(service, client_name=name).json()["client_name"] == kept


def test_credentials_of_a_registration_are_ignored(url: str) -> None:
    headers = {"Authorization": "Bearer wrong", "Cookie": "session=x"}
    response = httpx.post(url, json={"redirect_uris": [CALLBACK]}, headers=headers)

    assert response.status_code == 201
    assert "set-cookie" not in response.headers


@pytest.mark.parametrize("trusted", ["", "127.0.0.1"])
def test_a_forwarded_address_registers_only_behind_a_trusted_proxy(
    tmp_path: Path, trusted: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Limit and log use the forwarded address only from a trusted proxy."""
    with serving(tmp_path, registrations_per_minute=1, trusted_proxies=trusted) as service:
        body = {"client_name": "Test host", "redirect_uris": ["http://127.0.0.1/"]}
        answers = [
            httpx.post(
                f"{service.url}/oauth/register", json=body, headers={"X-Forwarded-For": address}
            )
            for address in ("192.0.2.1", "192.0.2.2", "192.0.2.1")
        ]

    second = 201 if trusted else 429
    assert [answer.status_code for answer in answers] == [201, second, 429]
    assert error_of(answers[-1]) == (429, "rate_limited")
    assert 0 < int(answers[-1].headers["retry-after"]) <= 60
    assert ("from 192.0.2.1 are" in caplog.text) is bool(trusted)


def test_a_registration_counts_before_it_is_read(tmp_path: Path) -> None:
    with serving(tmp_path, registrations_per_minute=1) as service:
        faulty = register(service, redirect_uris=[])
        sound = register(service)

    assert error_of(faulty) == (400, "invalid_redirect_uri")
    assert error_of(sound) == (429, "rate_limited")


def test_what_is_kept_of_an_app_has_at_most_4_kb(service: Service) -> None:
    long = ["https://app.example/" + "a" * 1_900] * 2

    refused = register(service, redirect_uris=[*long, "https://app.example/" + "b" * 300])

    assert error_of(refused) == (400, "invalid_client_metadata")
    assert register(service, redirect_uris=long).status_code == 201

"""POST /oauth/token with a refresh token (RFC 6749 section 6, RFC 9700 section 4.14.2)."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from tests.oauth.conversation import Host, error_of, new_host
from tests.service import serving


@pytest.mark.proves("OAUTH-refresh")
def test_a_refresh_rotates_both_tokens(host: Host) -> None:
    """A wider scope is not granted."""
    old = host.tokens()
    response = host.refresh(old["refresh_token"], scope="patterns admin")
    new = response.json()

    assert response.headers["cache-control"] == "no-store"
    assert (new["expires_in"], new["scope"]) == (604_800, "patterns")
    assert {new["access_token"], new["refresh_token"]}.isdisjoint(old.values())
    assert host.opens(new["access_token"])
    assert not host.opens(old["access_token"])


@pytest.mark.parametrize("generation", [0, 1])
@pytest.mark.proves("OAUTH-replay")
def test_a_used_refresh_token_shown_again_ends_the_whole_family(
    host: Host, generation: int, caplog: pytest.LogCaptureFixture
) -> None:
    family = [host.tokens()]
    for _ in range(2):
        family.append(host.refresh(family[-1]["refresh_token"]).json())
    shown = family[generation]["refresh_token"]

    with caplog.at_level(logging.WARNING, "store.accounts.tokens"):
        assert error_of(host.refresh(shown)) == (400, "invalid_grant")

    assert not host.opens(family[-1]["access_token"])
    assert error_of(host.refresh(family[-1]["refresh_token"])) == (400, "invalid_grant")
    assert "reused a used refresh token" in caplog.text
    assert shown not in caplog.text


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"client_id": None}, "invalid_client"),
        ({"refresh_token": None}, "invalid_request"),
        *(({"scope": scope}, "invalid_scope") for scope in ("admin", "PATTERNS", "openid x")),
    ],
)
def test_a_faulty_refresh_costs_no_token(
    host: Host, changes: dict[str, str | None], error: str
) -> None:
    refresh_token = host.tokens()["refresh_token"]

    assert error_of(host.refresh(refresh_token, **changes)) == (400, error)
    assert host.refresh(refresh_token).status_code == 200


def test_each_credential_is_good_for_its_own_purpose_alone(host: Host) -> None:
    tokens, code = host.tokens(), host.code()

    assert not host.opens(tokens["refresh_token"])
    assert not host.opens(code)
    assert error_of(host.refresh(tokens["access_token"])) == (400, "invalid_grant")
    assert error_of(host.refresh(code)) == (400, "invalid_grant")
    assert error_of(host.exchange(tokens["refresh_token"])) == (400, "invalid_grant")
    assert host.opens(tokens["access_token"])


def test_an_operator_may_let_a_broken_connection_ask_again(tmp_path: Path) -> None:
    with serving(tmp_path, refresh_leeway_seconds=60) as service:
        host = new_host(service)
        old = host.tokens()["refresh_token"]
        answers = [host.refresh(old) for _ in range(2)]

        assert [answer.status_code for answer in answers] == [200, 200]
        assert answers[0].text == answers[1].text

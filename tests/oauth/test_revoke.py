"""POST /oauth/revoke (RFC 7009)."""

from __future__ import annotations

import pytest

from tests.oauth.conversation import Host, error_of, new_host
from tests.service import Service

KINDS = ("access_token", "refresh_token")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("hint", [None, *KINDS, "unknown"])
@pytest.mark.proves("OAUTH-revoke")
def test_either_token_ends_both_whatever_the_hint(host: Host, kind: str, hint: str | None) -> None:
    tokens = host.tokens()

    revoked = host.revoke(tokens[kind], token_type_hint=hint)
    assert (revoked.status_code, revoked.headers["cache-control"]) == (200, "no-store")
    assert not host.opens(tokens["access_token"])
    assert error_of(host.refresh(tokens["refresh_token"])) == (400, "invalid_grant")


@pytest.mark.parametrize("token", ["unknown", "\0"])
def test_an_unknown_token_is_as_good_as_revoked(host: Host, token: str) -> None:
    assert host.revoke(token).status_code == 200


def test_a_revoked_token_and_an_api_key_are_none(host: Host, service: Service) -> None:
    token = host.tokens()["access_token"]

    assert [host.revoke(each).status_code for each in (token, token, service.key)] == [200] * 3
    assert service.get("/me").status_code == 200


def test_no_token_is_told(host: Host) -> None:
    for client_id in (host.client_id, None):
        assert error_of(host.revoke("", client_id=client_id)) == (400, "invalid_request")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.proves("OAUTH-revoke")
def test_whoever_has_a_token_of_a_public_client_ends_it_by_the_token_alone(
    host: Host, kind: str
) -> None:
    tokens = host.tokens()

    alone = [host.revoke(tokens[kind], client_id=None).status_code for _ in range(2)]

    assert alone == [200, 200]
    assert not host.opens(tokens["access_token"])
    unknown = host.revoke("unknown", client_id=None)
    assert (unknown.status_code, unknown.headers["cache-control"]) == (200, "no-store")


@pytest.mark.parametrize(
    "changes", [{"client_id": None}, {"client_id": "unknown"}, {"client_secret": "wrong"}]
)
def test_a_client_that_is_unknown_or_does_not_prove_its_secret_revokes_nothing(
    service: Service, changes: dict[str, str | None]
) -> None:
    host = new_host(service, token_endpoint_auth_method="client_secret_post")
    tokens = host.tokens()

    refused = host.revoke(tokens["access_token"], **changes)

    assert error_of(refused) == (400, "invalid_client")
    assert host.opens(tokens["access_token"])

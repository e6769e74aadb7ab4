"""Access: keys, plans, and the effect of a credential on a keyless route."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import httpx
import pytest

from store.accounts.accounts import AccountPlan, Accounts
from tests.agent import call, connected, texts
from tests.contract.cases import KEYED, KEYLESS
from tests.service import Service, new_key, serving


@pytest.fixture(scope="module")
def free(service: Service) -> str:
    """A key of an account whose plan has no access."""
    return new_key(service.settings, "free-of-access@example.com", AccountPlan.NONE)


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]


@pytest.mark.proves("AUTH-5-missing", "AUTH-5-invalid", "AUTH-4", "AUTH-1", "OAUTH-key")
@pytest.mark.proves("ERR-missing_api_key", "ERR-invalid_api_key", "ERR-forbidden", "GETME-errors")
@pytest.mark.proves("PAT-errors-caller", "TICK-errors-caller", "SCAN-errors")
@pytest.mark.parametrize(("method", "path"), KEYED)
def test_a_keyed_route_takes_a_live_key_of_a_plan_with_access(
    service: Service, free: str, method: str, path: str
) -> None:
    for key, refusal, words in (
        ("", (401, "missing_api_key"), "Authorization: Bearer <API_KEY>"),
        ("ps_live_" + "0" * 48, (401, "invalid_api_key"), "new key"),
        (free, (403, "forbidden"), "same key then works"),
    ):
        answer = service.request(method, path, key=key)
        assert code(answer) == refusal
        assert words in answer.json()["fix"]
        assert "www-authenticate" not in answer.headers


@pytest.mark.proves("AUTH-4", "AUTH-5-invalid", "ERR-retry", "ERR-mcp")
@pytest.mark.proves("ERR-forbidden", "ERR-invalid_api_key")
@pytest.mark.parametrize("refusal", [(403, "forbidden"), (401, "invalid_api_key")])
async def test_the_same_key_works_again_once_the_plan_is_upgraded_or_the_account_active(
    service: Service, refusal: tuple[int, str]
) -> None:
    key = new_key(service.settings, email := f"{refusal[0]}@example.com")

    async def set_open(accounts: Accounts, is_open: bool) -> None:
        if refusal[0] == 403:
            await accounts.set_plan(
                email, AccountPlan.PREMIUM_PLUS if is_open else AccountPlan.NONE
            )
        else:
            await accounts.set_active(email, active=is_open)

    async with connected(service.mcp_url, key) as client:
        service.accounts(lambda accounts: set_open(accounts, False))
        for _ in range(2):
            assert code(service.get("/me", key=key)) == refusal
        refused = await call(client, "list_tracked_tickers")
        assert texts(refused)[0].startswith(f"{refusal[1]}: ")
        service.accounts(lambda accounts: set_open(accounts, True))
        assert not (await call(client, "list_tracked_tickers")).is_error
    assert service.get("/me", key=key).status_code == 200


@pytest.mark.proves("ME-plan", "LIM-key")
@pytest.mark.proves("ME-limits.requests_per_minute", "ME-limits.requests_per_day")
def test_after_the_beta_an_account_sees_its_plan_and_the_limits_of_the_interface(
    tmp_path: Path,
) -> None:
    with serving(tmp_path, beta=False, key_per_minute=60) as live:
        me = live.get("/me").raise_for_status().json()

    assert me["plan"] == AccountPlan.PREMIUM_PLUS
    assert me["limits"]["requests_per_minute"] == 60
    assert me["limits"]["requests_per_day"] == live.settings.key_per_day == 10_000


@pytest.mark.proves("AUTH-1-revoke", "AUTH-1-secret", "AUTH-5-invalid", "ERR-invalid_api_key")
def test_a_revoked_or_replaced_key_is_invalid_and_its_replacement_works(service: Service) -> None:
    first = new_key(service.settings, "replacing@example.com")
    key, second = service.keys(lambda keys: keys.replace(first[:16]))
    assert code(service.get("/me", key=first)) == (401, "invalid_api_key")
    assert service.get("/me", key=second).json()["key"]["name"] == "test"
    assert {secret[:8] for secret in (first, second)} == {"ps_live_"}

    service.keys(lambda keys: keys.revoke(key.prefix))
    assert code(service.get("/me", key=second)) == (401, "invalid_api_key")


@pytest.mark.proves("AUTH-3", "DOC-keyless", "AUTH-3-counts", "AUTH-5-invalid")
@pytest.mark.parametrize("path", KEYLESS)
def test_a_keyless_route_takes_a_key_that_counts_and_no_bad_one(
    service: Service, path: str
) -> None:
    key = new_key(service.settings, f"counts{KEYLESS.index(path)}@example.com")
    without, first, second = (service.get(path, key=given) for given in ("", key, key))

    assert without.status_code == first.status_code == 200
    assert without.headers["ratelimit"].startswith('"keyless-minute";')
    assert first.headers["ratelimit"].startswith('"minute";r=9999;')
    assert second.headers["ratelimit"].startswith('"minute";r=9998;')
    if path.startswith("/demo/"):  # who has a key is not told to get one
        anonymous, signed_in = without.json(), first.json()
        assert "ask for an API key" in anonymous.pop("next")
        assert "key" not in signed_in.pop("next")
        assert anonymous == signed_in
    else:
        assert without.content == first.content
    assert code(service.get(path, key="ps_live_bad")) == (401, "invalid_api_key")


@pytest.mark.proves("GETME-answer", "ME-key.prefix", "ME-key.name", "ME-key.created_at")
@pytest.mark.proves("ME-plan", "ME-tracked_ticker_count", "ME-urls", "ME-limits.tracked_tickers")
def test_me_is_the_calling_account(service: Service) -> None:
    key = new_key(service.settings, "me@example.com", tracked=("AAPL", "IBM"))
    me = service.get("/me", key=key).json()

    assert me["key"]["prefix"] == key[:16]
    assert me["key"]["name"] == "test"
    created = dt.datetime.fromisoformat(me["key"]["created_at"])
    assert dt.timedelta(0) <= dt.datetime.now(dt.UTC) - created < dt.timedelta(hours=1)
    assert (me["key"]["expires_at"], me["key"]["read_only"]) == (None, False)
    assert me["plan"] == "beta"
    assert me["limits"]["tracked_tickers"] == 200
    assert me["tracked_ticker_count"] == 2
    assert me["mcp_url"] == service.mcp_url
    assert httpx.get(me["docs_url"]).status_code == 200
    assert me["api_version"] == "v1"

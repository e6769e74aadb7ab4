"""The page of keys and connected apps."""

from __future__ import annotations

import datetime as dt
import re

import pytest

from store.accounts.accounts import Account, utc_now
from store.accounts.keys import Key, Principal
from store.accounts.usage import UsageLog
from store.database.database import Database
from tests.screener.web.browser import PASSWORD, Browser, Forms
from tests.screener.web.people import (
    age_sign_in,
    authorize_address,
    expire_keys,
    grants_of,
    new_app,
    new_member,
    new_person,
    signed_in,
    tokens_of,
)
from tests.service import Service, on_database

SECRET = re.compile(r"ps_live_[A-Za-z0-9]{48}")


def create(browser: Browser, name: str = "Laptop", **fields: str) -> str:
    """Create a key with the form; returns its secret."""
    page = browser.submit(browser.form("/keys"), name=name, **fields)
    assert page.status_code == 200
    (secret,) = set[str](SECRET.findall(page.text))
    return secret


@pytest.mark.proves("KEYS-site", "AUTH-6", "AUTH-1-secret")
def test_a_new_key_is_shown_once_and_works(service: Service, browser: Browser) -> None:

    page = browser.submit(browser.form("/keys"), name="Laptop", read_only="yes")
    secret = SECRET.findall(page.text)[0]
    later = browser.get("/keys").text

    assert page.headers["cache-control"] == "no-store"
    assert 'value="Laptop"' not in page.text
    assert "checked" not in page.text
    assert service.get("/me", key=secret).json()["key"]["name"] == "Laptop"
    assert secret not in later
    assert secret[:16] in later
    assert "Never used" in later


def test_a_key_tells_when_it_was_used_last_and_by_whom(service: Service) -> None:
    account, browser = new_member(service)
    key = Key(create(browser)[:16], "", utc_now(), None)
    moments = iter([dt.datetime(2026, 5, 4, hour, 30, tzinfo=dt.UTC) for hour in (8, 8, 9, 9)])

    async def use(database: Database) -> None:
        log = UsageLog(database, clock=lambda: next(moments).timestamp())
        for client in ("first", "my <agent>"):
            log.record(Principal(account, key), "me", client)
            await log.flush()

    on_database(service, use)
    page = browser.get("/keys").text

    assert "2026-05-04 09:30 UTC" in page
    assert "my &lt;agent&gt;" in page
    assert "first" not in page


@pytest.mark.proves("OAUTH-named", "OAUTH-revoke")
def test_an_approval_stands_among_the_keys_until_it_is_revoked(service: Service) -> None:
    account, client_id = new_person(service), new_app(service, "Claude")
    browser = signed_in(service, account)
    approved = browser.submit(browser.form(authorize_address(client_id)), decision="approve")
    issued = tokens_of(service, approved, client_id)
    (grant,) = grants_of(service, account)
    page = browser.get("/keys").text
    before = service.get("/me", key=issued["access_token"])

    answer = browser.submit(browser.form("/keys"), revoke=grant.prefix)
    fields = {"refresh_token": issued["refresh_token"], "client_id": client_id}
    refreshed = Browser(service).post(
        "/oauth/token", data={"grant_type": "refresh_token", **fields}
    )

    assert before.json()["key"]["name"] == "Claude"
    assert "Claude" in page
    assert grant.prefix in page
    assert issued["access_token"] not in page
    assert answer.headers["location"] == "/keys?done=revoked"
    assert service.get("/me", key=issued["access_token"]).status_code == 401
    assert refreshed.json()["error"] == "invalid_grant"
    assert grant.prefix not in browser.get("/keys").text


def test_a_key_needs_a_name_that_can_be_read_and_an_end_that_is_a_choice(browser: Browser) -> None:
    names, ends = ("", "   ", "x" * 101, "a\u202eb"), ("0", "-1", "36500", "30 ", "never")
    refused = [({"name": name}, "1 to 100 printable characters") for name in names]
    refused += [({"name": "Laptop", "ends": end}, "Choose when the key expires.") for end in ends]

    for fields, said in refused:
        answer = browser.submit(browser.form("/keys"), **fields)
        assert answer.status_code == 400, fields
        assert said in answer.text
        assert "You have no key." in answer.text


def keys_of(service: Service, account: Account) -> list[Key]:
    return service.keys(lambda keys: keys.of_account(account.email))


def test_a_key_takes_a_password_once_the_sign_in_is_old(service: Service) -> None:
    """What was chosen stays in the form meanwhile, and no password does."""
    chosen = {"name": "My <laptop>", "ends": "90", "read_only": "yes"}
    account, browser = new_member(service)
    fresh = browser.get("/keys").text
    age_sign_in(service, account, 16)

    page = browser.get("/keys").text
    refused = [
        browser.submit(browser.form("/keys"), **chosen, **given)
        for given in ({}, {"password": ""}, {"password": "wrong password"})
    ]
    none_made = keys_of(service, account)
    made = browser.submit(browser.form("/keys"), name="Laptop", password=PASSWORD)

    assert 'type="password"' not in fresh
    assert 'type="password"' in page
    assert [answer.status_code for answer in refused] == [400] * 3
    assert "current password is not right" in refused[0].text
    assert 'value="My &lt;laptop&gt;"' in refused[2].text
    assert '<option value="90" selected>' in refused[2].text
    assert '<input type="checkbox" name="read_only" value="yes" checked>' in refused[2].text
    assert "wrong password" not in refused[2].text
    assert none_made == []
    assert SECRET.search(made.text)
    assert 'type="password"' not in browser.get("/keys").text
    create(browser, "another, without asking again")


@pytest.mark.proves("AUTH-1-site")
def test_a_key_that_its_owner_revokes_without_a_password_opens_nothing_any_more(
    service: Service,
) -> None:
    account, browser = new_member(service)
    secret = create(browser)
    age_sign_in(service, account, 16)

    form = next(f for f in Forms(browser.get("/keys").text).found if f.buttons)
    answer = browser.submit(form, revoke=form.buttons[0][1])

    assert form.buttons == [("revoke", secret[:16])]
    assert answer.headers["location"] == "/keys?done=revoked"
    assert "Revoked" in browser.get(answer.headers["location"]).text
    assert service.get("/me", key=secret).status_code == 401
    assert secret[:16] not in browser.get("/keys").text


def test_a_key_may_end_and_the_page_and_me_say_when(service: Service, browser: Browser) -> None:
    for fields in ({}, {"ends": ""}):
        secret = create(browser, **fields)
        assert service.get("/me", key=secret).json()["key"]["expires_at"] is None
        assert "Ends" not in browser.get("/keys").text

    for days in (30, 90, 365):
        secret = create(browser, ends=str(days))
        end = dt.datetime.fromisoformat(service.get("/me", key=secret).json()["key"]["expires_at"])

        assert dt.timedelta(days=days) - (end - utc_now()) < dt.timedelta(minutes=5)
        assert f"{end:%Y-%m-%d %H:%M} UTC" in browser.get("/keys").text


def test_a_key_that_has_ended_opens_nothing_and_says_so(service: Service) -> None:
    account, browser = new_member(service)
    secret = create(browser)
    create(browser, "Unused")
    before = service.get("/me", key=secret).status_code
    counted = browser.get("/account").text

    expire_keys(service, account)
    refused = service.get("/me", key=secret)

    assert before == 200
    assert (refused.status_code, refused.json()["error"]) == (401, "invalid_api_key")
    assert "expired" in browser.get("/keys").text
    assert "2 keys and" in counted
    assert "0 keys and" in browser.get("/account").text
    assert "Unused" not in browser.get("/usage").text.split("<main", 1)[1]


def test_a_key_that_may_only_read_changes_no_list(service: Service) -> None:
    browser = signed_in(service, new_person(service, tracked=("AAPL",)))

    secret = create(browser, read_only="yes")
    refused = service.request("PUT", "/tickers", key=secret, json={"symbols": ["IBM"]})

    assert service.get("/me", key=secret).json()["key"]["read_only"] is True
    assert (refused.status_code, refused.json()["error"]) == (403, "forbidden")
    assert "may only read" in browser.get("/keys").text
    assert [t["symbol"] for t in service.get("/tickers", key=secret).json()["tickers"]] == ["AAPL"]


@pytest.mark.parametrize(
    ("limit", "status", "said"),
    [
        ("screener.web.account.keys.KEYS_PER_HOUR", 429, "Wait 60 min"),
        ("store.accounts.keys.MAX_KEYS", 400, "at most 1 live keys"),
    ],
)
def test_making_keys_very_often_has_to_wait_and_very_many_are_too_many(
    service: Service, monkeypatch: pytest.MonkeyPatch, limit: str, status: int, said: str
) -> None:
    monkeypatch.setattr(limit, 1)
    account, browser = new_member(service)

    create(browser)
    answer = browser.submit(browser.form("/keys"), name="one more")

    assert answer.status_code == status
    assert said in answer.text
    assert status != 429 or 3500 < int(answer.headers["retry-after"]) <= 3600
    assert len(keys_of(service, account)) == 1

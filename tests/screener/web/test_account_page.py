"""The account page: who is signed in where, and how a person ends it, alone or all at once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from store.accounts.accounts import Account, Accounts
from store.accounts.audit import EventKind
from store.accounts.sessions import Browsers
from tests.screener.web.browser import FIREFOX, PASSWORD, SAFARI, Browser
from tests.screener.web.people import (
    authorize_address,
    events_of,
    grants_of,
    new_app,
    new_member,
    new_person,
    signed_in,
    tokens_of,
)
from tests.service import Service, on_database, serving

HANDLE = re.compile(r'name="end" value="([0-9a-f]+)"')


def access_token(service: Service, browser: Browser) -> str:
    """The access token of an app that the person connects."""
    client_id = new_app(service)
    answer = browser.submit(browser.form(authorize_address(client_id)), decision="approve")
    token: str = tokens_of(service, answer, client_id)["access_token"]
    return token


def test_a_person_sees_every_browser_and_signs_one_out(service: Service) -> None:
    account = new_person(service)
    here = signed_in(service, account, FIREFOX)
    phone = signed_in(service, account, SAFARI)

    answered = here.get("/account")
    page = answered.text
    [handle] = HANDLE.findall(page)
    answer = here.submit(here.form("/account"), end=handle)

    assert answered.headers["cache-control"] == "no-store"
    for said in ("Firefox on Linux", "Safari on iPhone", "this browser", "127.0.0.1"):
        assert said in page
    assert here.cookies["session"] not in page
    assert phone.cookies["session"] not in page
    for address in ("/account/password", "/account/activity", "/keys"):
        assert f'href="{address}"' in page
    assert "0 keys and 0 connected apps" in page
    assert answer.headers["location"] == "/account?done=ended"
    after = here.get(answer.headers["location"]).text
    assert "That browser is signed out." in after
    assert "Safari on iPhone" not in after
    assert phone.get("/account").headers["location"].startswith("/sign-in?next=")
    last = events_of(service, account)[0]
    told = (last.kind, last.actor, last.network, last.agent)
    assert told == (EventKind.SESSION_ENDED, "owner", "127.0.0.1", FIREFOX)


def knows(service: Service, browser: Browser, account: Account) -> bool:
    """Whether a browser is known to be the account's."""
    token = browser.cookies["browser"]
    return on_database(service, lambda database: Browsers(database).knows(token, account.email))


def test_ending_everything_leaves_this_browser_alone(service: Service) -> None:
    account, eve = new_person(service), new_person(service)
    browser, other, hers = (signed_in(service, who) for who in (account, account, eve))
    _, secret = service.keys(lambda keys: keys.create(account.email, "laptop"))
    _, kept = service.keys(lambda keys: keys.create(eve.email, "hers"))
    token = access_token(service, browser)
    assert [service.get("/me", key=key).status_code for key in (secret, token)] == [200, 200]

    answer = browser.submit(browser.form("/account"), everything="yes")

    assert answer.headers["location"] == "/account?done=everything"
    assert "every key and app is revoked" in browser.get(answer.headers["location"]).text
    assert [service.get("/me", key=key).status_code for key in (secret, token)] == [401, 401]
    assert [knows(service, one, account) for one in (browser, other)] == [True, False]
    assert other.get("/account").status_code == 303
    assert hers.get("/account").status_code == 200
    assert service.get("/me", key=kept).status_code == 200
    kinds = [event.kind for event in events_of(service, account)[:3]]
    assert kinds == [EventKind.APP_REVOKED, EventKind.KEY_REVOKED, EventKind.SESSION_ENDED]


@pytest.mark.parametrize(("chosen", "status"), [({}, 200), ({"end_access": "yes"}, 401)])
def test_a_new_password_ends_keys_and_apps_if_that_is_chosen(
    service: Service, chosen: dict[str, str], status: int
) -> None:
    """Every other session ends in any case."""
    account, new = new_person(service), "a staple for the horse"
    browser, other = signed_in(service, account), signed_in(service, account)
    _, secret = service.keys(lambda keys: keys.create(account.email, "laptop"))
    token = access_token(service, browser)

    before = browser.cookies["session"]
    answer = browser.submit(browser.form("/account/password"), current=PASSWORD, new=new, **chosen)

    assert (answer.status_code, answer.headers["location"]) == (303, "/keys?done=password")
    assert "Your password is changed" in browser.get("/keys?done=password").text
    assert Browser(service, cookies={"session": before}).get("/keys").status_code == 303
    assert browser.get("/account").status_code == 200
    assert other.get("/account").status_code == 303
    assert [service.get("/me", key=key).status_code for key in (secret, token)] == [status] * 2
    last = events_of(service, account)[0]
    assert (last.kind, last.actor) == (EventKind.SIGN_IN, "owner")
    assert len(grants_of(service, account)) == 1
    assert knows(service, browser, account)
    signed = [Browser(service).sign_in(account.email, one).status_code for one in (PASSWORD, new)]
    assert signed == [400, 303]


def test_who_is_deleted_while_a_form_is_on_its_way_is_signed_out(
    service: Service, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    account, browser = new_member(service)
    form, plain = browser.form("/account"), Accounts.end_access

    async def deleted_meanwhile(accounts: Accounts, *given: Any, **named: Any) -> None:
        await accounts.delete(account.email)
        await plain(accounts, *given, **named)

    monkeypatch.setattr(Accounts, "end_access", deleted_meanwhile)
    answer = browser.submit(form, everything="yes")

    assert answer.status_code == 403
    assert "You have been signed out" in answer.text
    assert account.email not in answer.text + caplog.text


def test_a_thief_who_reads_many_pages_keeps_nobody_from_ending_it(tmp_path: Path) -> None:
    with serving(tmp_path, other_per_minute=8) as live:
        account = new_person(live)
        thief, owner = signed_in(live, account), signed_in(live, account)
        codes = [thief.get("/account").status_code for _ in range(10)]

        ended = owner.submit(owner.form("/account"), everything="yes")

        assert (codes[0], codes[-1]) == (200, 429)
        assert ended.headers["location"] == "/account?done=everything"
        assert owner.get("/account").text.count('name="end"') == 0

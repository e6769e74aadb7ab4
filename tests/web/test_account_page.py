"""The account page: who is signed in where, and how a person ends it, alone or all at once."""

from __future__ import annotations

import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path

import pytest

from store.accounts import Account
from store.audit import Kind
from store.browsers import Browsers
from tests.service import Service, on_database, serving
from tests.web.browser import PASSWORD, Browser
from tests.web.people import (
    authorize_address,
    events_of,
    grants_of,
    new_app,
    new_person,
    signed_in,
    tokens_of,
)

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
SAFARI = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like "
    "Gecko) Version/18.5 Mobile/15E148 Safari/604.1"
)
HANDLE = re.compile(r'name="end" value="([0-9a-f]+)"')


def signed_in_with(service: Service, account: Account, agent: str) -> Browser:
    """A browser of some name in which an account is signed in."""
    browser = Browser(service, headers={"User-Agent": agent})
    assert browser.sign_in(account.email).status_code == 303
    return browser


def access_token(service: Service, browser: Browser) -> str:
    """The access token of an app that the person connects."""
    client_id = new_app(service)
    answer = browser.submit(browser.form(authorize_address(client_id)), decision="approve")
    token: str = tokens_of(service, answer, client_id)["access_token"]
    return token


def test_a_person_sees_every_browser_and_signs_one_out(service: Service) -> None:
    account = new_person(service)
    here = signed_in_with(service, account, FIREFOX)
    phone = signed_in_with(service, account, SAFARI)

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
    assert told == (Kind.SESSION_ENDED, "owner", "127.0.0.1", FIREFOX)


def test_the_browser_of_somebody_else_is_not_signed_out(service: Service) -> None:
    ada, mallory = new_person(service), new_person(service)
    hers, other, thief = (signed_in(service, who) for who in (ada, ada, mallory))
    [handle] = HANDLE.findall(hers.get("/account").text)

    for end in (handle, "", "%", "0" * 16, other.cookies["session"]):
        answer = thief.submit(thief.form("/account"), end=end)
        assert answer.status_code == 404
        assert "nothing was changed" in answer.text

    assert other.get("/account").status_code == 200
    assert hers.get("/account").status_code == 200


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
    assert other.get("/account").status_code == 303
    assert hers.get("/account").status_code == 200
    assert service.get("/me", key=kept).status_code == 200
    kinds = [event.kind for event in events_of(service, account)[:3]]
    assert kinds == [Kind.APP_REVOKED, Kind.KEY_REVOKED, Kind.SESSION_ENDED]


def knows(service: Service, browser: Browser, account: Account) -> bool:
    """Whether a browser is known to be the account's."""
    token = browser.cookies["browser"]
    return on_database(service, lambda database: Browsers(database).knows(token, account.email))


def test_this_browser_stays_known_when_all_others_are_signed_out(service: Service) -> None:
    account = new_person(service)
    browser, other = signed_in(service, account), signed_in(service, account)

    browser.submit(browser.form("/account"), everything="yes")
    known = [knows(service, one, account) for one in (browser, other)]
    form = browser.form("/account/password")
    browser.submit(form, current=PASSWORD, new="a staple for the horse")

    assert known == [True, False]
    assert knows(service, browser, account)


def test_another_site_ends_nothing(service: Service) -> None:
    account = new_person(service)
    browser, other = signed_in(service, account), signed_in(service, account)
    evil = {"Origin": "https://evil.example"}

    for fields in ({"everything": "yes"}, {"end": "0" * 16}):
        for headers, forged in ((None, {"token": "0" * 64}), (evil, {})):
            form = browser.form("/account")
            answer = browser.submit(form, headers=headers, **fields, **forged)
            assert answer.status_code == 403, (fields, headers)
    assert other.get("/account").status_code == 200


@pytest.mark.parametrize(("chosen", "status"), [({}, 200), ({"end_access": "yes"}, 401)])
def test_a_new_password_ends_keys_and_apps_if_that_is_chosen(
    service: Service, chosen: dict[str, str], status: int
) -> None:
    account = new_person(service)
    browser, other = signed_in(service, account), signed_in(service, account)
    _, secret = service.keys(lambda keys: keys.create(account.email, "laptop"))
    token = access_token(service, browser)

    form = browser.form("/account/password")
    answer = browser.submit(form, current=PASSWORD, new="a staple for the horse", **chosen)

    assert answer.status_code == 303
    assert browser.get("/account").status_code == 200
    assert other.get("/account").status_code == 303
    assert [service.get("/me", key=key).status_code for key in (secret, token)] == [status] * 2
    last = events_of(service, account)[0]
    assert (last.kind, last.actor) == (Kind.SIGN_IN, "owner")
    assert len(grants_of(service, account)) == 1


def test_who_is_deleted_while_a_form_is_on_its_way_is_signed_out(
    service: Service, caplog: pytest.LogCaptureFixture
) -> None:
    account = new_person(service)
    browser = signed_in(service, account)
    form = browser.form("/account")
    path = service.settings.data_dir / "accounts.sqlite"
    with ThreadPoolExecutor() as pool, closing(sqlite3.connect(path)) as writer:
        writer.isolation_level = None
        writer.execute("BEGIN IMMEDIATE")
        sent = pool.submit(browser.submit, form, everything="yes")
        wait([sent], timeout=0.3)  # it has found its visitor, and waits to write
        writer.execute("DELETE FROM sessions WHERE account_id = ?", (account.id,))
        writer.execute("DELETE FROM browsers WHERE account_id = ?", (account.id,))
        writer.execute("DELETE FROM accounts WHERE id = ?", (account.id,))
        writer.execute("COMMIT")

    answer = sent.result()

    assert answer.status_code in (303, 403)
    assert answer.status_code == 303 or "You have been signed out" in answer.text
    assert account.email not in answer.text
    assert account.email not in caplog.text


def test_a_thief_who_reads_many_pages_keeps_nobody_from_ending_it(tmp_path: Path) -> None:
    with serving(tmp_path, other_per_minute=8) as live:
        account = new_person(live)
        thief, owner = signed_in(live, account), signed_in(live, account)
        codes = [thief.get("/account").status_code for _ in range(10)]

        ended = owner.submit(owner.form("/account"), everything="yes")

        assert (codes[0], codes[-1]) == (200, 429)
        assert ended.headers["location"] == "/account?done=everything"
        assert owner.get("/account").text.count('name="end"') == 0

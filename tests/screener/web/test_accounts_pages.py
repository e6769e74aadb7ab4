"""Making an account, changing its password, and what a refused form keeps of what was typed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from screener.web.site.forms import form_token
from store.accounts.accounts import AccountPlan, Accounts
from store.accounts.audit import EventKind
from store.accounts.passwords import Asker, Passwords
from store.errors import PasswordsBusyError
from tests.screener.web.browser import PASSWORD, Browser, unfilled
from tests.screener.web.people import events_of, new_person
from tests.service import Service, on_database, serving

NEW = "a staple for the horse"

TYPED, SHOWN = 'ann"><b>', "ann&#34;&gt;&lt;b&gt;"
SECRET = "a password that is not right"


def test_sign_up_is_closed_unless_the_operator_opens_it(service: Service) -> None:
    browser = Browser(service)

    assert browser.get("/sign-up").status_code == 404
    assert browser.post("/sign-up", data={}).status_code == 404
    assert "/sign-up" not in browser.get("/sign-in").text


def test_a_new_account_is_signed_in_and_can_sign_in_again(open_service: Service) -> None:
    browser = Browser(open_service)
    form = browser.form("/sign-up?next=/watchlist", "/sign-up")

    answer = browser.submit(form, email="New@Example.com", password=NEW)

    assert answer.headers["location"] == "/watchlist"
    assert "new@example.com" in browser.get("/watchlist").text
    assert Browser(open_service).sign_in("new@example.com", NEW).status_code == 303
    account = open_service.accounts(lambda accounts: accounts.get("new@example.com"))
    assert account.plan is AccountPlan.PREMIUM
    made = events_of(open_service, account)[-1]
    assert (made.kind, made.actor, made.network) == (EventKind.ACCOUNT_ADDED, "owner", "127.0.0.1")


def test_a_new_account_has_no_access_once_the_beta_is_over(tmp_path: Path) -> None:
    with serving(tmp_path, sign_up=True, beta=False) as live:
        browser = Browser(live)
        browser.submit(browser.form("/sign-up"), email="late@example.com", password=NEW)
        account = live.accounts(lambda accounts: accounts.get("late@example.com"))

    assert account.plan is AccountPlan.NONE


def test_what_makes_no_account_says_why(open_service: Service) -> None:
    browser = Browser(open_service)
    for email, password, said in (
        ("reader@example.com", NEW, "cannot be used"),
        ("READER@example.com ", NEW, "cannot be used"),
        ("no address", NEW, "cannot be used"),
        ("x@" + "y" * 300, NEW, "cannot be used"),
        ("short@example.com", "elevenchars", "12 to 256 characters"),
        ("long@example.com", "x" * 257, "12 to 256 characters"),
    ):
        answer = browser.submit(browser.form("/sign-up"), email=email, password=password)

        assert answer.status_code == 400, email
        assert said in answer.text
        assert "session" not in browser.cookies


def test_without_an_account_sign_in_has_its_form_where_anybody_makes_one(tmp_path: Path) -> None:
    with serving(tmp_path, sign_up=True) as live:
        on_database(live, lambda database: Accounts(database).delete("reader@example.com"))
        page = Browser(live).get("/sign-in").text

    assert "screener account add" not in page
    assert 'action="/sign-in"' in page


def test_a_new_account_that_finds_no_place_to_hash_costs_no_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def busy(*_: object) -> str:
        raise PasswordsBusyError

    with serving(tmp_path, sign_up=True) as live:
        browser = Browser(live)
        form = browser.form("/sign-up")
        with monkeypatch.context() as patch:
            patch.setattr(Passwords, "hash", busy)
            busy_ones = [
                browser.submit(form, email="new@example.com", password=NEW).status_code
                for _ in range(21)
            ]
        made = browser.submit(form, email="new@example.com", password=NEW).status_code

    assert (busy_ones, made) == ([503] * 21, 303)


def test_making_accounts_in_bulk_is_stopped(tmp_path: Path) -> None:
    with serving(tmp_path, sign_up=True) as live:
        browser = Browser(live)
        form = browser.form("/sign-up")
        statuses = [
            browser.submit(form, email=f"bot{number}@example.com", password="short").status_code
            for number in range(21)
        ]
        signing_in = Browser(live).sign_in("bot0@example.com").status_code

    assert statuses == [400] * 20 + [429]
    assert signing_in == 400


def test_a_taken_address_and_none_at_all_look_and_cost_alike(
    open_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only an argon2id hash takes long, and each attempt with a valid password computes one."""
    browser, hashed, plain = Browser(open_service), list[str](), Passwords.hash
    form = browser.form("/sign-up")

    async def counted(passwords: Passwords, password: str, asker: Asker) -> str:
        hashed.append(password)
        return await plain(passwords, password, asker)

    monkeypatch.setattr(Passwords, "hash", counted)
    answers = [
        browser.submit(form, email=email, password=NEW)
        for email in ("reader@example.com", "no address")
    ]

    assert hashed == [NEW] * 2
    assert answers[0].status_code == answers[1].status_code == 400
    assert unfilled(answers[0].text) == unfilled(answers[1].text)


def test_a_hash_is_computed_for_a_network_and_for_an_account_that_signed_in_there_before(
    open_service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By which it waits for its turn; at sign-up nobody is known."""
    account, askers = new_person(open_service), list[Asker]()

    def noted(plain: Any) -> Any:
        async def note(passwords: Passwords, *given: Any) -> Any:
            askers.append(given[-1])
            return await plain(passwords, *given)

        return note

    for name in ("hash", "verify"):
        monkeypatch.setattr(Passwords, name, noted(getattr(Passwords, name)))
    browser = Browser(open_service)
    for _ in range(2):
        browser.sign_in(account.email)
        browser.submit(browser.form("/keys", "/sign-out"))
    browser.sign_in(account.email)
    change(browser, PASSWORD, NEW)
    token = form_token(browser.cookies["session"], "/sign-up")
    browser.post("/sign-up", data={"token": token, "email": "new2@example.com", "password": NEW})

    assert {asker.network for asker in askers} == {"127.0.0.1"}
    assert [asker.account for asker in askers] == [None, *[account.email] * 4, None]


def change(browser: Browser, current: str, new: str) -> tuple[int, str]:
    form = browser.form("/account/password")
    answer = browser.submit(form, current=current, new=new)
    return answer.status_code, answer.headers.get("location", answer.text)


def fields(page: str) -> list[str]:
    """The tags of a page's fields."""
    return re.findall(r"<(?:input|option)[^>]*>", page)


@pytest.mark.parametrize("path", ["/sign-in", "/sign-up"])
def test_a_refused_form_of_a_session_keeps_the_address_as_text(
    open_service: Service, path: str
) -> None:
    browser = Browser(open_service)
    page = browser.submit(browser.form(path), email=TYPED, password=SECRET).text

    assert f'value="{SHOWN}"' in page
    assert "<b>" not in page
    assert SECRET not in page


def test_a_refused_sign_in_goes_on_at_the_password_and_keeps_so_much_of_the_address(
    service: Service,
) -> None:
    page = Browser(service).sign_in("x" * 5000, SECRET).text
    (focused,) = (field for field in fields(page) if "autofocus" in field)

    assert 'name="password"' in focused
    assert "x" * 1000 in page
    assert "x" * 1001 not in page


def test_a_refused_change_of_the_password_keeps_the_choice_and_no_password(
    browser: Browser,
) -> None:
    form = browser.form("/account/password")
    page = browser.submit(form, current=PASSWORD, new="too short", end_access="yes").text

    assert '<input type="checkbox" name="end_access" value="yes" checked>' in fields(page)
    assert PASSWORD not in page
    assert "too short" not in page

"""Browsers in which an account signed in before, and what is recorded of sign-ins."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import pytest
import sqlalchemy as sa

from store import passwords
from store.accounts import Account, Accounts
from store.audit import Kind
from store.database import Database
from store.errors import AccountError
from store.events import AuditLog
from tests.service import Service, on_database, serving
from tests.web.browser import PASSWORD, Browser, Form, unfilled
from tests.web.people import events_of, new_person
from web.forms import form_token
from web.proof import REFUSED

STRANGER, OWNER = "203.0.113.5", "198.51.100.9"
YEAR = 365 * 24 * 3600


def at(service: Service, network: str, **options: Any) -> Browser:
    """A browser in a network, as a proxy states it."""
    return Browser(service, headers={"X-Forwarded-For": network}, **options)


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A service that believes what its visitors say of their network."""
    with serving(tmp_path_factory.mktemp("proxied"), trusted_proxies="127.0.0.1") as live:
        yield live


@pytest.fixture
def ada(proxied: Service) -> Account:
    return new_person(proxied)


def guess(service: Service, email: str, times: int, network: str) -> list[int]:
    """The statuses of some sign-ins with a wrong password."""
    browser = at(service, network)
    form = browser.form("/sign-in")
    return [browser.submit(form, email=email, password="wrong").status_code for _ in range(times)]


def test_an_account_that_is_deleted_while_it_signs_in_is_told_so(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the session and the browser, and before the session."""
    account = new_person(service)
    deletes = (
        "CREATE TRIGGER gone AFTER INSERT ON sessions BEGIN "
        "DELETE FROM sessions WHERE account_id = NEW.account_id; "
        "DELETE FROM accounts WHERE id = NEW.account_id; END"
    )

    async def run(database: Database, *statements: str) -> None:
        async with database.write() as connection:
            for statement in statements:
                await connection.execute(sa.text(statement))

    on_database(service, lambda database: run(database, deletes))
    answers = [Browser(service).sign_in(account.email)]
    on_database(service, lambda database: run(database, "DROP TRIGGER gone"))

    async def gone(_accounts: Accounts, _email: str) -> Account:
        raise AccountError("There is no such account.")

    other = new_person(service)
    monkeypatch.setattr(Accounts, "get", gone)
    answers.append(Browser(service).sign_in(other.email))

    assert [answer.status_code for answer in answers] == [400, 400]
    assert "This account has been deleted." in answers[0].text
    assert "is not right" in answers[1].text


def test_a_stranger_keeps_the_owner_out_neither_elsewhere_nor_in_a_known_browser(
    proxied: Service, ada: Account
) -> None:
    laptop = at(proxied, STRANGER)
    laptop.sign_in(ada.email)
    laptop.submit(laptop.form("/keys", "/sign-out"))

    assert guess(proxied, ada.email, 60, STRANGER) == [400] * 20 + [429] * 40

    assert at(proxied, STRANGER).sign_in(ada.email).status_code == 429
    assert at(proxied, OWNER).sign_in(ada.email).status_code == 303
    assert laptop.sign_in(ada.email).status_code == 303


def test_a_known_browser_still_needs_the_password_and_has_guesses_of_its_own(
    proxied: Service, ada: Account
) -> None:
    laptop = at(proxied, OWNER)
    laptop.sign_in(ada.email)
    stolen = {"browser": laptop.cookies["browser"]}

    thief = at(proxied, STRANGER, cookies=stolen)
    statuses = [thief.sign_in(ada.email, "wrong").status_code for _ in range(25)]

    assert thief.get("/keys").status_code == 303
    assert statuses == [400] * 20 + [429] * 5
    assert at(proxied, STRANGER).sign_in(ada.email).status_code == 303


def test_a_browser_is_known_to_the_account_that_signed_in_alone(
    proxied: Service, ada: Account
) -> None:
    other = new_person(proxied)
    mine = at(proxied, STRANGER)
    mine.sign_in(other.email)
    mine.submit(mine.form("/keys", "/sign-out"))
    guess(proxied, ada.email, 20, STRANGER)

    assert mine.sign_in(ada.email).status_code == 429


def test_the_browsers_token_lasts_a_year_and_stays_when_the_session_ends(
    proxied: Service, ada: Account
) -> None:
    browser = at(proxied, OWNER)
    cookies = browser.sign_in(ada.email).headers.get_list("set-cookie")
    token = browser.cookies["browser"]
    browser.submit(browser.form("/keys", "/sign-out"))
    browser.sign_in(ada.email)

    cookie = next(cookie for cookie in cookies if cookie.startswith("browser="))
    assert f"Max-Age={YEAR}" in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Domain" not in cookie
    assert browser.cookies["browser"] == token


def test_a_wrong_password_leaves_no_cookie_and_the_same_page_with_a_token_and_without(
    proxied: Service, ada: Account
) -> None:
    browser = at(proxied, OWNER)
    browser.sign_in(ada.email)
    known = at(proxied, OWNER, cookies={"browser": browser.cookies["browser"]})

    for visitor in (known, at(proxied, OWNER)):
        emails = (ada.email, "nobody@example.com")
        answers = [visitor.sign_in(email, "wrong") for email in emails]
        assert {answer.status_code for answer in answers} == {400}
        assert unfilled(answers[0].text) == unfilled(answers[1].text)
        assert not any("browser=" in answer.headers["set-cookie"] for answer in answers)


def test_wrong_passwords_are_recorded_without_what_was_typed(
    proxied: Service, ada: Account
) -> None:
    before = len(failures(proxied, None))
    browser = at(proxied, OWNER)
    for email in (ada.email.upper(), "my secret password"):
        browser.sign_in(email, "wrong")

    assert failures(proxied, ada) == [("stranger", OWNER, "")]
    assert failures(proxied, None)[before:] == [("stranger", OWNER, "")]


def failures(service: Service, account: Account | None) -> list[tuple[str, str, str]]:
    """Actor, network and subject of each failed sign-in of an account, or of none, in order."""
    wanted = account.id if account else None
    whole = on_database(service, lambda database: AuditLog(database).events(limit=10_000))
    return [
        (event.actor, event.network, event.subject)
        for event in reversed(whole)
        if (event.kind, event.account_id) == (Kind.SIGN_IN_FAILED, wanted)
    ]


def test_what_the_throttle_refuses_of_an_account_known_or_not_is_recorded_once_in_each_network(
    proxied: Service, ada: Account
) -> None:
    before, networks = len(failures(proxied, None)), ("203.0.113.31", "203.0.113.32")
    for network in networks:
        assert guess(proxied, ada.email, 30, network) == [400] * 20 + [429] * 10
    assert guess(proxied, "nobody@example.com", 25, "203.0.113.33") == [400] * 20 + [429] * 5

    one, other, third = (
        [*[("stranger", network, "")] * 20, ("stranger", network, REFUSED)]
        for network in (*networks, "203.0.113.33")
    )
    assert failures(proxied, ada) == [*one, *other[:-1]]
    assert failures(proxied, None)[before:] == third


def test_who_guesses_the_password_of_another_account_is_a_stranger(
    proxied: Service, ada: Account
) -> None:
    eve, network = new_person(proxied), "203.0.113.34"
    browser = at(proxied, network)
    form = browser.form("/sign-in")
    browser.sign_in(eve.email)
    token = form_token(browser.cookies["session"], "/sign-in")
    for email in (ada.email, f" {eve.email.upper()}"):
        answer = browser.submit(form, token=token, email=email, password="wrong")
        assert answer.status_code == 400

    assert failures(proxied, ada) == [("stranger", network, "")]
    assert failures(proxied, eve) == [("owner", network, "")]


def change(browser: Browser, current: str) -> int:
    """The status of a change of password."""
    form = browser.form("/account/password")
    return browser.submit(form, current=current, new="a staple for the horse").status_code


def test_all_sessions_of_an_account_share_their_guesses_and_a_known_browser_keeps_its_own(
    proxied: Service, ada: Account
) -> None:
    laptop = at(proxied, OWNER)
    laptop.sign_in(ada.email)
    thieves = [at(proxied, f"203.0.113.{number}") for number in range(40, 45)]
    for thief in thieves:
        thief.sign_in(ada.email)
        thief.cookies.delete("browser")

    statuses = [change(thief, "wrong") for thief in thieves for _ in range(6)]

    assert statuses == [400] * 20 + [429] * 10
    assert change(laptop, PASSWORD) == 303


def test_sessions_of_one_account_leave_places_to_known_browsers_of_others(
    proxied: Service, ada: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fifteen sessions from five networks guess at once; of twenty guesses, two are verified."""
    eve, go, matches = new_person(proxied), threading.Event(), passwords._matches
    laptop = at(proxied, OWNER)
    laptop.sign_in(ada.email)
    laptop.submit(laptop.form("/keys", "/sign-out"))
    bots = [at(proxied, f"203.0.113.{50 + number % 5}") for number in range(15)]
    for bot in bots:
        bot.sign_in(eve.email)
    forms = [(bot, bot.form("/account/password")) for bot in bots]
    entry = laptop.form("/sign-in")

    def held(encoded: str, password: str) -> bool:
        go.wait(timeout=60)
        return matches(encoded, password)

    def guess_current(bot: Browser, form: Form) -> int:
        return bot.submit(form, current="wrong", new="wrong").status_code

    monkeypatch.setattr(passwords, "_matches", held)
    with ThreadPoolExecutor(21) as executor:
        try:
            guesses = [executor.submit(guess_current, *bot) for bot in (forms * 2)[:20]]
            ended = as_completed(guesses, timeout=20)
            away = [next(ended).result() for _ in range(18)]
            owner = executor.submit(laptop.submit, entry, email=ada.email, password=PASSWORD)
        finally:
            go.set()
        answer = owner.result()

    assert away == [503] * 18
    assert answer.status_code == 303


def test_signing_in_and_out_is_recorded_as_the_owners_doing(proxied: Service, ada: Account) -> None:
    browser = at(proxied, OWNER)
    browser.sign_in(ada.email, PASSWORD)
    browser.submit(browser.form("/keys", "/sign-out"))

    recorded = events_of(proxied, ada)[:2]
    told = [(event.kind, event.actor, event.network, event.subject) for event in recorded]
    assert told == [(Kind.SIGN_OUT, "owner", OWNER, ""), (Kind.SIGN_IN, "owner", OWNER, "")]

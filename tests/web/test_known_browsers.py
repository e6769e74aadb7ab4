"""Browsers in which an account signed in before, and what is recorded of sign-ins."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa

from store import tables
from store.accounts import Account, Accounts
from store.audit import Kind
from store.database import Database
from store.errors import AccountError
from tests.service import Service, on_database, serving
from tests.web.browser import PASSWORD, Browser
from tests.web.people import new_person

STRANGER, OWNER = "203.0.113.5", "198.51.100.9"
YEAR = 365 * 24 * 3600


def at(service: Service, network: str, **options: Any) -> Browser:
    """A browser in a network, as a proxy states it."""
    return Browser(service, headers={"X-Forwarded-For": network}, **options)


def events(service: Service, *kinds: Kind) -> list[tuple[str, int | None, str, str, str]]:
    """Kind, account, actor, network and subject of each event of some kinds, oldest first."""
    audit = tables.audit

    async def work(database: Database) -> Any:
        columns = (audit.c.kind, audit.c.account_id, audit.c.actor, audit.c.network)
        query = sa.select(*columns, audit.c.subject).where(audit.c.kind.in_(kinds))
        async with database.read() as connection:
            return [tuple(row) for row in await connection.execute(query.order_by(audit.c.id))]

    found: list[tuple[str, int | None, str, str, str]] = on_database(service, work)
    return found


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A service that believes what its visitors say of their network."""
    with serving(tmp_path_factory.mktemp("proxied"), trusted_proxies="127.0.0.1") as live:
        yield live


@pytest.fixture
def ada(proxied: Service) -> Account:
    return new_person(proxied)


def guess(service: Service, account: Account, times: int, network: str) -> list[int]:
    """The statuses of some sign-ins with a wrong password."""
    browser = at(service, network)
    form = browser.form("/sign-in")
    return [
        browser.submit(form, email=account.email, password="wrong").status_code
        for _ in range(times)
    ]


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

    assert guess(proxied, ada, 60, STRANGER) == [400] * 20 + [429] * 40

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
    guess(proxied, ada, 20, STRANGER)

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
        assert answers[0].text == answers[1].text
        assert not any("browser=" in answer.headers["set-cookie"] for answer in answers)


def test_wrong_passwords_are_recorded_without_what_was_typed(
    proxied: Service, ada: Account
) -> None:
    before = len(events(proxied, Kind.SIGN_IN_FAILED))
    browser = at(proxied, OWNER)
    for email in (ada.email.upper(), "my secret password"):
        browser.sign_in(email, "wrong")

    assert events(proxied, Kind.SIGN_IN_FAILED)[before:] == [
        ("sign_in_failed", ada.id, "stranger", OWNER, ""),
        ("sign_in_failed", None, "stranger", OWNER, ""),
    ]


def test_what_the_throttle_refuses_is_not_recorded(proxied: Service, ada: Account) -> None:
    guess(proxied, ada, 60, STRANGER)

    failed = [event for event in events(proxied, Kind.SIGN_IN_FAILED) if event[1] == ada.id]
    assert len(failed) == 20


def test_signing_in_and_out_is_recorded_as_the_owners_doing(proxied: Service, ada: Account) -> None:
    browser = at(proxied, OWNER)
    browser.sign_in(ada.email, PASSWORD)
    browser.submit(browser.form("/keys", "/sign-out"))

    recorded = events(proxied, Kind.SIGN_IN, Kind.SIGN_OUT)
    assert [event for event in recorded if event[1] == ada.id] == [
        ("sign_in", ada.id, "owner", OWNER, ""),
        ("sign_out", ada.id, "owner", OWNER, ""),
    ]

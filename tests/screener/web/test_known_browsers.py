"""Browsers in which an account signed in before, and what is recorded of sign-ins."""

from __future__ import annotations

from typing import Any

import anyio.to_thread
import pytest

from screener.web.account.reauthentication import REFUSED
from screener.web.site.forms import form_token
from store.accounts.accounts import Account, Accounts
from store.accounts.audit import AuditLog, EventKind
from store.accounts.sessions import Browsers
from tests.screener.web.browser import PASSWORD, Browser
from tests.screener.web.people import age_sign_in, authorize_address, new_app, new_person
from tests.service import Service, on_database, serving

STRANGER, OWNER = "203.0.113.5", "198.51.100.9"


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


@pytest.mark.parametrize(
    ("part", "method", "said"),
    [(Browsers, "remember", "This account has been deleted."), (Accounts, "get", "is not right")],
)
def test_an_account_that_is_deleted_while_it_signs_in_is_told_so(
    service: Service, monkeypatch: pytest.MonkeyPatch, part: type, method: str, said: str
) -> None:
    """Between the session and the browser, and before the session."""
    account, plain = new_person(service), getattr(part, method)
    browser = Browser(service)
    form = browser.form("/sign-in")

    async def deleted_meanwhile(*given: Any) -> Any:
        monkeypatch.undo()
        # In a thread: a transaction of the service that is open now must be able to end.
        await anyio.to_thread.run_sync(
            lambda: service.accounts(lambda accounts: accounts.delete(account.email))
        )
        return await plain(*given)

    monkeypatch.setattr(part, method, deleted_meanwhile)
    answer = browser.submit(form, email=account.email, password=PASSWORD)

    assert answer.status_code == 400
    assert said in answer.text


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
        if (event.kind, event.account_id) == (EventKind.SIGN_IN_FAILED, wanted)
    ]


def test_what_the_throttle_refuses_of_an_account_known_or_not_is_recorded_once_in_each_network(
    proxied: Service, ada: Account
) -> None:
    """After so many wrong passwords, the right one is refused too."""
    before, networks = len(failures(proxied, None)), ("203.0.113.31", "203.0.113.32")
    for network in networks:
        assert guess(proxied, ada.email, 30, network) == [400] * 20 + [429] * 10
    assert guess(proxied, "nobody@example.com", 25, "203.0.113.33") == [400] * 20 + [429] * 5

    refused = at(proxied, networks[0]).sign_in(ada.email)
    assert refused.status_code == 429
    assert 0 < int(refused.headers["retry-after"]) <= 900
    assert "Too many attempts" in refused.text
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
    guess(proxied, ada.email, 19, network)
    assert browser.submit(form, token=token, email=ada.email, password="wrong").status_code == 429


def change(browser: Browser, current: str) -> int:
    """The status of a change of password."""
    form = browser.form("/account/password")
    return browser.submit(form, current=current, new="a staple for the horse").status_code


def test_all_sessions_of_an_account_share_their_guesses_and_a_known_browser_keeps_its_own(
    proxied: Service, ada: Account
) -> None:
    laptop, app = at(proxied, OWNER), authorize_address(new_app(proxied))
    laptop.sign_in(ada.email)
    thieves = [at(proxied, f"203.0.113.{number}") for number in range(40, 45)]
    for thief in thieves:
        thief.sign_in(ada.email)
        thief.cookies.delete("browser")

    statuses = [change(thief, "wrong") for thief in thieves for _ in range(6)]

    assert statuses == [400] * 20 + [429] * 10
    age_sign_in(proxied, ada, 16)  # and with the password that a new key or an app takes
    for address, button in (("/keys", {"name": "Laptop"}), (app, {"decision": "approve"})):
        for password in ("wrong", PASSWORD):
            form = thieves[0].form(address, address)
            assert thieves[0].submit(form, password=password, **button).status_code == 429
    assert change(laptop, PASSWORD) == 303

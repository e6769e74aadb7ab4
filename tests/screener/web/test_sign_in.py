"""Signing in and out, and what guards both."""

from __future__ import annotations

import html
import re
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from screener.web.site.forms import form_token
from store.accounts import passwords
from store.accounts.accounts import AccountPlan
from tests.screener.command import run
from tests.screener.web.browser import PASSWORD, Browser, Forms, unfilled
from tests.screener.web.people import came_back, new_person, signed_in
from tests.service import Service, serving

OFF_SITE = (
    *("https://evil.example/", "//evil.example/", "///evil.example/", "/\\evil.example/"),
    *("\\\\evil.example/", "/\t/evil.example/", "/\n/evil.example/", "javascript:alert(1)"),
    *("evil.example", " //evil.example/", "/ /evil.example", "http:evil.example", "/%", "/é"),
)
STAYS = {"/%": "/%"}


def is_signed_in(browser: httpx.Client) -> bool:
    return browser.get("/keys").status_code == 200


def test_who_signs_in_comes_back_to_the_page_they_wanted_and_is_not_asked_again(
    service: Service,
) -> None:
    browser = Browser(service)

    asked = browser.get("/watchlist")
    answer = came_back(browser, asked, new_person(service))

    assert asked.status_code == answer.status_code == 303
    assert answer.headers["location"] == "/watchlist"
    assert browser.get("/watchlist").status_code == 200
    assert browser.get("/sign-in?next=/usage").headers["location"] == "/usage"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        *(("GET", path) for path in ("/keys", "/watchlist", "/usage", "/account/password")),
        *(("GET", path) for path in ("/changes", "/screen?family=triangle&limit=3")),
        *(("POST", path) for path in ("/keys", "/watchlist", "/account/password")),
    ],
)
@pytest.mark.proves("AUTH-6")
def test_a_page_of_an_account_asks_who_is_there_first_and_takes_no_api_key(
    service: Service, path: str, method: str
) -> None:
    program = Browser(service, headers={"Authorization": f"Bearer {service.key}"})
    answer = program.request(method, path)

    assert answer.status_code == 303
    assert answer.headers["location"] == f"/sign-in?next={quote(path, safe='')}"


@pytest.mark.parametrize("path", ["/screen?status=all", "/changes", "/symbols/FB"])
def test_an_account_whose_plan_lacks_the_scan_is_told_so(service: Service, path: str) -> None:
    answer = signed_in(service, new_person(service, AccountPlan.NONE)).get(path)

    assert answer.status_code == 403
    assert "Your plan does not include" in answer.text
    assert "setup_id" not in answer.text


def test_an_off_site_return_target_stays_on_the_site(service: Service) -> None:
    person = {"email": new_person(service).email, "password": PASSWORD}
    for target in OFF_SITE:
        browser, posted = Browser(service), Browser(service)

        shown = browser.submit(browser.form(f"/sign-in?next={quote(target)}", "/sign-in"), **person)
        answer = posted.submit(posted.form("/sign-in"), next=target, **person)

        expected = STAYS.get(target, "/keys")
        assert shown.headers["location"] == answer.headers["location"] == expected, target


def test_signing_in_changes_the_session_id(service: Service) -> None:
    """A session id that was planted before sign-in gives no access afterwards."""
    account = new_person(service)
    browser = Browser(service)
    browser.cookies.set("session", "planted", domain="127.0.0.1")

    browser.sign_in(account.email)

    assert browser.cookies["session"] != "planted"
    planted = Browser(service, cookies={"session": "planted"})
    assert not is_signed_in(planted)
    assert is_signed_in(Browser(service, cookies={"session": browser.cookies["session"]}))


@pytest.mark.parametrize("host", ["", "screener.example.com"])
def test_cookies_are_kept_from_scripts_and_other_sites_and_on_https_from_neighbours(
    tmp_path: Path, host: str
) -> None:
    """Over http a browser would never send a Secure cookie back."""
    url, prefix = (f"https://{host}", "__Host-") if host else ("", "")
    settings: dict[str, Any] = {"public_url": url} if host else {}
    with serving(tmp_path, **settings) as live:
        account, browser = new_person(live), Browser(live)
        page = browser.get("/sign-in")
        visit, token = page.headers["set-cookie"], Forms(page.text).found[-1].fields["token"]
        # The tests use plain http, over which a client does not send Secure cookies by itself.
        answer = browser.post(
            "/sign-in",
            data={"token": token, "email": account.email, "password": PASSWORD},
            headers={"Cookie": visit.partition(";")[0], "Origin": url or live.url},
        )
        session, known, *_ = answer.headers.get_list("set-cookie")

    assert answer.status_code == 303
    assert f"Max-Age={365 * 24 * 3600}" in known
    for cookie, name in ((visit, "visit="), (session, "session="), (known, "browser=")):
        assert cookie.startswith(f"{prefix}{name}")
        assert {"HttpOnly", "SameSite=lax", "Path=/"} <= {*cookie.split("; ")}
        assert ("Secure" in cookie) is bool(host)
        assert "Domain" not in cookie


def test_a_wrong_password_says_nothing_about_the_account(service: Service) -> None:
    """Known, unknown, inactive, without a password, and no address at all."""
    known, inactive = new_person(service), new_person(service)
    service.accounts(lambda accounts: accounts.set_active(inactive.email, active=False))
    attempts = [
        (known.email, "wrong"),
        ("nobody@example.com", "wrong"),
        (inactive.email, PASSWORD),
        ("reader@example.com", ""),
        ("x" * 5000, "wrong"),
        ("", ""),
    ]
    familiar = {"browser": signed_in(service, known).cookies["browser"]}

    for browser in (Browser(service), Browser(service, cookies=familiar)):
        answers = [browser.sign_in(email, password) for email, password in attempts]

        assert {answer.status_code for answer in answers} == {400}
        assert len({unfilled(answer.text) for answer in answers}) == 1
        assert "is not right" in answers[0].text
        assert "session" not in browser.cookies
        assert not any("browser=" in answer.headers["set-cookie"] for answer in answers)


def test_of_five_sign_ins_at_once_from_one_network_one_is_turned_away_and_has_cost_no_guess(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each hash takes 64 MiB, also for an address that no account has, so few wait."""
    go, matches = threading.Event(), passwords._matches

    def held(encoded: str, password: str) -> bool:
        go.wait(timeout=60)
        return matches(encoded, password)

    monkeypatch.setattr(passwords, "_matches", held)
    with serving(tmp_path) as live, ThreadPoolExecutor(5) as executor:
        new_person(live)
        browser = Browser(live)
        form = browser.form("/sign-in")

        def attempt() -> httpx.Response:
            return browser.submit(form, email="nobody@example.com", password="wrong")

        ended = as_completed([executor.submit(attempt) for _ in range(5)])
        first = next(ended).result()
        go.set()
        late = [future.result().status_code for future in ended]
        further = [attempt().status_code for _ in range(17)]

    assert (first.status_code, first.headers["retry-after"]) == (503, "3")
    assert "Many people are signing in. Wait 3 s and try again." in first.text
    assert 'name="password"' in first.text
    assert late == [400] * 4
    assert further == [400] * 16 + [429]


def test_a_sign_in_under_way_while_the_password_changes_signs_nobody_in(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old password is right when it is verified, but changes before the session starts."""
    account, browser = new_person(service), Browser(service)
    matches = passwords._matches

    def changed_meanwhile(encoded: str, password: str) -> bool:
        service.accounts(lambda accounts: accounts.set_password(account.email, "another hash"))
        return matches(encoded, password)

    form = browser.form("/sign-in")
    monkeypatch.setattr(passwords, "_matches", changed_meanwhile)
    answer = browser.submit(form, email=account.email, password=PASSWORD)

    assert answer.status_code == 400
    assert "changed in the meantime" in answer.text
    assert "session" not in browser.cookies


@pytest.mark.parametrize("trusted", ["", "127.0.0.1"])
def test_a_forwarded_scheme_and_address_count_only_from_a_trusted_proxy(
    tmp_path: Path, trusted: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Both for the origin of a form and for the address in the log of attempts."""
    with serving(tmp_path, trusted_proxies=trusted) as live:
        new_person(live)
        browser = Browser(live)
        form = browser.form("/sign-in")
        forwarded = {
            "X-Forwarded-Proto": "https",
            "X-Forwarded-For": "192.0.2.7",
            "Origin": live.url.replace("http:", "https:"),
        }
        own = browser.submit(form, headers=forwarded, email="x", password="x").status_code
        del forwarded["Origin"]
        for _ in range(20):
            answer = browser.submit(form, headers=forwarded, email="x", password="x-secret")

    assert own == (400 if trusted else 403)
    if trusted:
        assert answer.status_code == 429
        assert "from 192.0.2.7" in caplog.text
    else:
        assert answer.status_code == 400
        assert "192.0.2.7" not in caplog.text
    assert "x-secret" not in caplog.text


def test_who_signs_in_again_leaves_no_older_session_behind(service: Service) -> None:
    first, second = new_person(service), new_person(service)
    browser = signed_in(service, first)
    old = browser.cookies["session"]
    token = form_token(old, "/sign-in")

    answer = browser.post(
        "/sign-in", data={"token": token, "email": second.email, "password": PASSWORD}
    )

    assert answer.status_code == 303
    assert is_signed_in(browser)
    with Browser(service, cookies={"session": old}) as thief:
        assert not is_signed_in(thief)


def commands_of(page: str) -> list[str]:
    """The commands that a page tells to type."""
    return [html.unescape(found) for found in re.findall(r"<code>(screener [^<]*)</code>", page)]


def test_where_nobody_can_sign_in_the_page_says_the_command_instead_of_a_form(
    tmp_path: Path,
) -> None:
    with serving(tmp_path, open_pages=True) as live:
        live.accounts(lambda accounts: accounts.delete("reader@example.com"))
        browser, data = Browser(live), live.settings.data_dir
        typed = f"{PASSWORD}\n{PASSWORD}\n"

        none = browser.get("/watchlist", follow_redirects=True)
        (add,) = commands_of(none.text)
        live.accounts(lambda accounts: accounts.add("me@localhost", AccountPlan.PREMIUM_PLUS))
        without = browser.get("/sign-in")
        (password,) = commands_of(without.text)
        mains = [answer.text.split("<main")[1] for answer in (none, without)]
        assert "<input" not in "".join(mains)
        for command in (add, password):
            assert run(data, *command.split()[1:], stdin=typed).returncode == 0

        for email in ("you@example.com", "me@localhost"):
            assert Browser(live).sign_in(email).status_code == 303
        assert "screener account password me@localhost" in browser.get("/sign-in").text


def test_a_stranger_learns_no_address_where_nobody_can_sign_in(tmp_path: Path) -> None:
    with serving(tmp_path) as live:
        live.accounts(lambda accounts: accounts.delete("reader@example.com"))
        live.accounts(lambda accounts: accounts.add("ada@example.com", AccountPlan.PREMIUM_PLUS))
        page = Browser(live).get("/sign-in").text

    assert commands_of(page) == ["screener account password EMAIL"]
    assert "@" not in page.split("<main")[1]


def test_signing_out_takes_a_form_of_this_site_and_ends_the_session_itself(
    service: Service, browser: Browser
) -> None:
    kept = Browser(service, cookies={"session": browser.cookies["session"]})

    assert browser.get("/sign-out").status_code == 405
    assert browser.post("/sign-out", data={}).status_code == 403
    assert is_signed_in(browser)
    answer = browser.submit(browser.form("/keys", "/sign-out"))

    assert answer.headers["location"] == "/"
    assert "session" not in browser.cookies
    assert not is_signed_in(kept)


def test_a_body_that_is_no_form_of_ours_is_refused(service: Service) -> None:
    form = "application/x-www-form-urlencoded"
    for body, kind, status in (
        (b"{}", "application/json", 415),
        (b"email=a", "text/plain", 415),
        (b"email=" + b"a" * 70_000, form, 413),
        (b"email=%00", form, 400),
        (b"\xff\xfe=\xff", form, 403),
        (b"", form, 403),
    ):
        answer = Browser(service).post("/sign-in", content=body, headers={"Content-Type": kind})

        assert answer.status_code == status, body[:20]
        assert answer.headers["content-type"] == "text/html; charset=utf-8"


def test_a_quoted_cookie_is_not_decoded(service: Service, browser: Browser) -> None:
    token = browser.cookies["session"]

    def status(cookie: str) -> int:
        return httpx.get(f"{service.url}/keys", headers={"Cookie": cookie}).status_code

    assert status(f"other=1; session={token}; session=2") == 200
    assert status(f'session="{token}"') == 303
    assert status('session="' + "\\" * 60_000 + '"') == 303

"""Consent: what a person is asked, and what an answer grants, on the running service."""

from __future__ import annotations

import datetime as dt
import html
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from store.accounts import grants
from store.accounts.accounts import Account, utc_now
from store.accounts.grants import Grant, Grants
from tests.screener.web.browser import PASSWORD, Browser, Form, Forms
from tests.screener.web.people import (
    CALLBACK,
    age_sign_in,
    authorize_address,
    came_back,
    grants_of,
    new_app,
    new_person,
    signed_in,
    tokens_of,
)
from tests.service import Service, on_database, serving


class Asked(NamedTuple):
    """A person who is signed in, and an app that asks to be let in."""

    service: Service
    account: Account
    browser: Browser
    client_id: str

    @property
    def address(self) -> str:
        """The page that asks."""
        return authorize_address(self.client_id)

    def form(self) -> Form:
        """The form of that page, anew."""
        return self.browser.form(self.address)

    def decide(self, decision: str = "approve", **fields: str) -> httpx.Response:
        """Post a form anew."""
        return self.browser.submit(self.form(), decision=decision, **fields)

    def grants(self) -> list[Grant]:
        """What has been approved."""
        return grants_of(self.service, self.account)


def new_asked(service: Service) -> Asked:
    account = new_person(service)
    return Asked(service, account, signed_in(service, account), new_app(service))


@pytest.fixture
def asked(service: Service) -> Asked:
    return new_asked(service)


def parameters(answer: httpx.Response) -> dict[str, list[str]]:
    """The parameters of a redirect to the app."""
    assert answer.status_code == 303
    location = answer.headers["location"]
    assert location.startswith(CALLBACK)
    return parse_qs(urlsplit(location).query)


def no_code(answer: httpx.Response) -> bool:
    return "code=" not in answer.headers.get("location", "") and answer.status_code in (400, 403)


def test_refusing_takes_no_password_and_its_form_approves_nothing_any_more(asked: Asked) -> None:
    age_sign_in(asked.service, asked.account, 16)
    form = asked.form()

    refused = parameters(asked.browser.submit(form, decision="refuse"))
    age_sign_in(asked.service, asked.account, 0)
    again = [asked.browser.submit(form, decision=one) for one in ("approve", "refuse")]

    assert refused["error"] == ["access_denied"]
    assert refused["iss"] == [asked.service.url]
    assert refused["state"] == ["xyz"]
    assert "code" not in refused
    assert [answer.status_code for answer in again] == [409, 409]
    assert "used already. Start again from the app." in again[0].text
    assert asked.grants() == []


def test_an_approval_takes_a_password_once_the_sign_in_is_old(asked: Asked) -> None:
    browser, address = asked.browser, asked.address
    fresh = browser.get(address).text
    age_sign_in(asked.service, asked.account, 16)

    page = browser.get(address).text
    old = asked.form()
    refused = [
        browser.submit(old, decision="approve", read_only="yes", **given)
        for given in ({}, {"password": "wrong"})
    ]
    none_made = asked.grants()
    [form] = [form for form in Forms(refused[1].text).found if form.action == address]
    approved = browser.submit(form, decision="approve", password=PASSWORD)

    assert 'type="password"' not in fresh
    assert 'type="password"' in page
    assert [answer.status_code for answer in refused] == [400, 400]
    assert "current password is not right" in refused[0].text
    assert form.fields["token"] != old.fields["token"]
    assert none_made == []
    assert "code" in parameters(approved)
    assert [grant.read_only for grant in asked.grants()] == [True]
    assert 'type="password"' not in browser.get(address).text


def test_an_app_that_was_approved_is_asked_about_again_whatever_the_prompt(asked: Asked) -> None:
    """Signed in or not, a person sees a page and no code is made."""
    assert "code" in parameters(asked.decide())
    for prompt in ("none", "login", "consent", "none none"):
        address = authorize_address(asked.client_id, prompt=prompt)
        shown, anonymous = asked.browser.get(address), Browser(asked.service).get(address)

        assert shown.status_code == 200, prompt
        assert "location" not in shown.headers
        assert anonymous.headers["location"].startswith("/sign-in?next=")
    assert len(asked.grants()) == 1
    assert "code" in parameters(asked.decide())


@pytest.mark.parametrize("name", ["state", "scope", "resource", "nonsense", "redirect_uri"])
def test_a_long_request_that_carries_line_breaks_puts_nothing_into_headers(
    asked: Asked, name: str
) -> None:
    """Six kilobytes through sign-in, consent and the redirect."""
    poison = "a\r\nSet-Cookie: planted=1\r\n\r\n<script>" + "x" * 6000
    address = authorize_address(asked.client_id, **{name: poison})

    for browser in (asked.browser, Browser(asked.service)):
        answers = [browser.get(address)]
        if "/sign-in" in answers[0].headers.get("location", ""):
            page = browser.get(answers[0].headers["location"])
            assert "form-action" not in page.headers["content-security-policy"]
            back = came_back(browser, answers[0], asked.account)
            assert back.headers["location"] == address
            answers += [back, browser.get(address)]
        if answers[-1].status_code == 200:
            answers.append(browser.submit(browser.form(address), decision="approve"))

        for answer in answers:
            assert answer.status_code in (200, 303, 400)
            assert "planted" not in answer.headers.get("set-cookie", "")
            assert "<script>" not in answer.text
        if name in ("state", "nonsense"):
            assert parameters(answers[-1])["state"] == [poison if name == "state" else "xyz"]
            assert "code" in parameters(answers[-1])
        else:
            assert "code=" not in answers[-1].headers.get("location", "")


def test_the_page_says_who_asks_for_what_and_where_the_code_goes(asked: Asked) -> None:
    page = asked.browser.get(asked.address).text

    for said in ("Test host", "unverified", "127.0.0.1", asked.account.email, "watchlist"):
        assert said in page
    assert "Anybody can give an app this name" in page


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ('"><img src=x>', "&#34;&gt;&lt;img src=x&gt;"),
        ("{{7*7}}{% x %}", "{{7*7}}{% x %}"),
        *((f"Cla{mark}ude" + "x" * 80, "Claudexxx") for mark in "\u202e\u200b\u2066\ufeff\x07"),
        ("Cla\nude" + "x" * 80, "Cla udexxx"),
        *((blank, "An app without a name") for blank in ("\u3164", "\u2800\u2800", "\u0301")),
    ],
)
def test_an_apps_name_is_text_that_hides_nothing(asked: Asked, name: str, shown: str) -> None:
    page = asked.browser.get(authorize_address(new_app(asked.service, name))).text

    assert f"<bdi>{shown}" in page
    assert "<script>alert" not in page
    assert "<img" not in page
    assert "x" * 60 not in page
    assert not set(page) & {*"\u202e\u200b\u2066\ufeff\x07\u3164\u2800\u0301"}


def test_an_approval_without_the_pages_token_gives_no_code(asked: Asked) -> None:
    """No token, one of another session, form or signature, and a link."""
    browser, other = asked.browser, new_asked(asked.service)
    stolen = other.browser.form(asked.address).fields["token"]
    lasting = browser.form("/keys").fields["token"]
    once = asked.form().fields["token"]
    for place in (0, 8, 31, 32, 95):
        form = asked.form()
        token = form.fields["token"]
        form.fields["token"] = token[:place] + "10"[token[place] == "1"] + token[place + 1 :]
        assert no_code(browser.submit(form, decision="approve")), place
    for data in ({}, {"decision": "approve"}, {"decision": "approve", "token": "0" * 64}):
        assert no_code(browser.post(asked.address, data=data)), data
    for token in (stolen, lasting):
        assert no_code(asked.decide(token=token))
    for decision in ("", "maybe", "Approve"):
        assert no_code(asked.decide(decision)), decision
    linked = browser.get(f"{asked.address}&decision=approve&token={once}")

    assert "code=" not in linked.headers.get("location", "")
    for token in (once, once[32:]):
        assert browser.submit(browser.form("/keys"), name="x", token=token).status_code == 403
    assert asked.grants() == other.grants() == []


def test_an_approval_from_this_site_is_taken(asked: Asked) -> None:
    own = {"Origin": asked.service.url}
    for headers in ({}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}, own):
        answer = asked.browser.submit(asked.form(), headers=headers, decision="approve")
        assert "code" in parameters(answer), headers


def test_what_was_shown_is_what_is_approved(asked: Asked) -> None:
    """The app, address, state or challenge changes between the page and the post."""
    changes = {
        "client_id": new_app(asked.service, "Evil", "https://evil.example/cb"),
        "redirect_uri": "https://evil.example/cb",
        "state": "other",
        "code_challenge": "x" * 43,
    }
    for name, other in changes.items():
        form = asked.form()

        form.action = authorize_address(asked.client_id, **{name: other})
        assert no_code(asked.browser.submit(form, decision="approve")), name
        form.action = asked.address
        beside = asked.browser.submit(form, decision="approve", **{name: other})

        assert parameters(beside)["state"] == ["xyz"]
    assert [grant.client_id for grant in asked.grants()] == [asked.client_id] * len(changes)


def test_an_approval_after_the_session_ended_asks_to_sign_in_and_comes_back(asked: Asked) -> None:
    form = asked.form()
    asked.browser.submit(asked.browser.form("/keys", "/sign-out"))

    answer = asked.browser.submit(form, decision="approve")
    back = came_back(asked.browser, answer, asked.account)

    assert back.headers["location"] == asked.address
    assert asked.grants() == []


SITE = "https://evil.example/phish?x=1"


def broken(client_id: str, redirect_uri: str = SITE) -> str:
    return authorize_address(client_id, response_type="nope", redirect_uri=redirect_uri)


@pytest.mark.parametrize("redirect_uri", [SITE, "cursor://evil/cb"])
def test_no_link_alone_sends_a_visitor_who_signed_in_to_any_site(
    asked: Asked, redirect_uri: str
) -> None:
    """RFC 9700 section 4.11.2: the page names the site, and the person may go on to it.

    A visitor who did not sign in is sent to sign in.
    """
    client_id = new_app(asked.service, "Evil<b>", redirect_uri)

    answer = asked.browser.get(broken(client_id, redirect_uri))
    anonymous = Browser(asked.service).get(broken(client_id, redirect_uri))

    assert anonymous.headers["location"].startswith("/sign-in?next=")
    assert answer.status_code == 400
    assert "location" not in answer.headers
    link = html.unescape(answer.text.partition('<a href="' + redirect_uri[:9])[2].partition('"')[0])
    assert "error=unsupported_response_type" in link
    assert "state=xyz" in link
    assert "code=" not in link
    assert "Evil&lt;b&gt;" in answer.text
    assert "unsupported_response_type" in answer.text


def test_an_app_that_the_account_approved_is_told_what_is_wrong_at_once(asked: Asked) -> None:
    service, account, browser = asked.service, asked.account, asked.browser
    client_id, other = new_app(service, "Known", SITE), signed_in(service, new_person(service))
    known = authorize_address(client_id, redirect_uri=SITE)
    browser.submit(browser.form(known), decision="approve")

    told = browser.get(broken(client_id))
    assert told.status_code == 303
    assert told.headers["location"].startswith(SITE + "&error=unsupported_response_type")
    assert other.get(broken(client_id)).status_code == 400

    prefix = asked.grants()[0].prefix
    on_database(service, lambda database: Grants(database).revoke_grant(account.id, prefix))
    assert browser.get(broken(client_id)).status_code == 400


def test_a_consent_form_is_out_of_date_after_an_hour(tmp_path: Path) -> None:
    now = [utc_now()]
    with serving(tmp_path, clock=lambda: now[0]) as live:
        asked = new_asked(live)
        form, used = asked.form(), asked.form()
        asked.browser.submit(used, decision="approve")
        now[0] += dt.timedelta(minutes=59)
        in_time = asked.browser.submit(form, decision="refuse")
        now[0] += dt.timedelta(minutes=1)
        answers = [asked.browser.submit(one, decision="approve") for one in (form, used)]
        granted = asked.grants()

    assert in_time.status_code == 303
    assert [answer.status_code for answer in answers] == [403, 403]
    assert "out of date" in answers[0].text
    assert len(granted) == 1


def test_an_app_may_be_let_in_to_only_read(asked: Asked) -> None:
    service = asked.service

    asked.decide()
    token = tokens_of(service, asked.decide(read_only="yes"), asked.client_id)
    key = token["access_token"]
    refused = service.request("PATCH", "/tickers", key=key, json={"add": ["IBM"]})

    assert token["scope"] == "patterns"
    assert [grant.read_only for grant in asked.grants()] == [False, True]
    assert service.get("/me", key=key).json()["key"]["read_only"] is True
    assert (refused.status_code, refused.json()["error"]) == (403, "forbidden")
    assert "may only read" in asked.browser.get("/keys").text


@pytest.mark.parametrize(
    ("limit", "status", "said"),
    [("GRANTS_PER_HOUR", 429, "Wait 60 min"), ("MAX_GRANTS", 409, "revoke one first")],
)
def test_approving_very_often_has_to_wait_and_very_many_apps_are_too_many(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, limit: str, status: int, said: str
) -> None:
    monkeypatch.setattr(grants, limit, 1)
    last, answer = asked.decide(), asked.decide()

    assert "code" in parameters(last)
    assert answer.status_code == status
    assert said in answer.text
    assert status != 429 or 3500 < int(answer.headers["retry-after"]) <= 3600
    assert len(asked.grants()) == 1

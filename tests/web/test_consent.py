"""Consent: the rows C05 to C14 and A22 of the security list, on the running service.

Over 400 lines, because these rows all concern one page and share its steps.
"""

from __future__ import annotations

import datetime as dt
import html
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from store.accounts import utc_now
from store.database import Database
from store.grants import Grants
from tests.service import Service, copy_night, on_database, serving
from tests.web.browser import PASSWORD, Browser, Forms
from tests.web.people import (
    CALLBACK,
    VERIFIER,
    age_sign_in,
    authorize_address,
    grants_of,
    new_app,
    new_person,
    signed_in,
)

BIDI, ZERO_WIDTH = "\u202e", "\u200b"


def parameters(answer: httpx.Response) -> dict[str, list[str]]:
    """The parameters of a redirect to the app."""
    assert answer.status_code == 303
    location = answer.headers["location"]
    assert location.startswith(CALLBACK)
    return parse_qs(urlsplit(location).query)


def no_code(answer: httpx.Response) -> bool:
    return "code=" not in answer.headers.get("location", "") and answer.status_code in (400, 403)


@pytest.mark.proves("OAUTH-approve")
def test_an_anonymous_visitor_signs_in_first_and_then_decides(service: Service) -> None:
    account, address = new_person(service), authorize_address(new_app(service))
    browser = Browser(service)

    asked = browser.get(address)
    form = browser.form(asked.headers["location"], "/sign-in")
    came_back = browser.submit(form, email=account.email, password=PASSWORD)
    consent = browser.form(came_back.headers["location"])
    approved = parameters(browser.submit(consent, decision="approve"))

    assert asked.headers["location"].startswith("/sign-in?next=%2Foauth%2Fauthorize%3F")
    assert came_back.headers["location"] == address
    assert approved["state"] == ["xyz"]
    assert len(approved["code"][0]) >= 22
    assert "iss" in approved
    assert [grant.name for grant in grants_of(service, account)] == ["Test host"]


def test_refusing_sends_the_app_no_code(service: Service) -> None:
    account, address = new_person(service), authorize_address(new_app(service))
    browser = signed_in(service, account)

    refused = parameters(browser.submit(browser.form(address), decision="refuse"))

    assert refused["error"] == ["access_denied"]
    assert refused["state"] == ["xyz"]
    assert "code" not in refused
    assert grants_of(service, account) == []


def test_a_form_that_refused_approves_nothing(service: Service) -> None:
    account, address = new_person(service), authorize_address(new_app(service))
    browser = signed_in(service, account)
    form = browser.form(address)

    assert browser.submit(form, decision="refuse").status_code == 303
    again = [browser.submit(form, decision=decision) for decision in ("approve", "refuse")]

    assert [answer.status_code for answer in again] == [409, 409]
    assert grants_of(service, account) == []


def test_an_approval_takes_a_password_once_the_sign_in_is_old(service: Service) -> None:
    account, address = new_person(service), authorize_address(new_app(service))
    browser = signed_in(service, account)
    fresh = browser.get(address).text
    age_sign_in(service, account, 16)

    page = browser.get(address).text
    old = browser.form(address)
    refused = [
        browser.submit(old, decision="approve", read_only="yes", **given)
        for given in ({}, {"password": "wrong"})
    ]
    none_made = grants_of(service, account)
    [form] = [form for form in Forms(refused[1].text).found if form.action == address]
    approved = browser.submit(form, decision="approve", password=PASSWORD)

    assert 'type="password"' not in fresh
    assert 'type="password"' in page
    assert [answer.status_code for answer in refused] == [400, 400]
    assert "current password is not right" in refused[0].text
    assert form.fields["token"] != old.fields["token"]
    assert none_made == []
    assert "code" in parameters(approved)
    assert [grant.read_only for grant in grants_of(service, account)] == [True]
    assert 'type="password"' not in browser.get(address).text


def test_an_app_is_refused_without_a_password(service: Service) -> None:
    account, address = new_person(service), authorize_address(new_app(service))
    browser = signed_in(service, account)
    age_sign_in(service, account, 16)

    refused = browser.submit(browser.form(address), decision="refuse")

    assert parameters(refused)["error"] == ["access_denied"]


def test_an_app_that_was_approved_is_asked_about_again(service: Service) -> None:
    """A27."""
    account, address = new_person(service), authorize_address(new_app(service))
    browser = signed_in(service, account)

    for _ in range(2):
        answer = browser.submit(browser.form(address), decision="approve")
        assert "code" in parameters(answer)


@pytest.mark.parametrize("prompt", ["none", "login", "consent", "none none"])
def test_no_prompt_parameter_makes_an_approved_app_silent(service: Service, prompt: str) -> None:
    """A27: signed in or not, a person sees a page and no code is made."""
    account, client_id = new_person(service), new_app(service)
    browser = signed_in(service, account)
    browser.submit(browser.form(authorize_address(client_id)), decision="approve")
    address = authorize_address(client_id, prompt=prompt)

    asked, anonymous = browser.get(address), Browser(service).get(address)

    assert asked.status_code == 200
    assert "location" not in asked.headers
    assert anonymous.headers["location"].startswith("/sign-in?next=")
    assert len(grants_of(service, account)) == 1


@pytest.mark.parametrize("name", ["state", "scope", "resource", "nonsense", "redirect_uri"])
@pytest.mark.parametrize("signed", [True, False])
def test_a_long_request_that_carries_line_breaks_puts_nothing_into_headers(
    service: Service, name: str, signed: bool
) -> None:
    """A26: six kilobytes through sign-in, consent and the redirect."""
    account, client_id = new_person(service), new_app(service)
    browser = signed_in(service, account) if signed else Browser(service)
    poison = "a\r\nSet-Cookie: planted=1\r\n\r\n<script>" + "x" * 6000
    address = authorize_address(client_id, **{name: poison})

    answers = [browser.get(address)]
    if not signed and answers[0].status_code == 303:
        came_back = browser.submit(
            browser.form(answers[0].headers["location"], "/sign-in"),
            email=account.email,
            password=PASSWORD,
        )
        assert came_back.headers["location"] == address
        answers += [came_back, browser.get(address)]
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


def test_the_page_says_who_asks_for_what_and_where_the_code_goes(service: Service) -> None:
    """C07."""
    account = new_person(service)
    page = signed_in(service, account).get(authorize_address(new_app(service))).text

    for words in ("Test host", "unverified", "127.0.0.1", account.email, "watchlist"):
        assert words in page
    assert "Anybody can give an app this name" in page


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", '"><img src=x>', "{{7*7}}", "{% x %}"]
)
def test_an_apps_name_is_text(service: Service, name: str) -> None:
    """C05."""
    page = (
        signed_in(service, new_person(service)).get(authorize_address(new_app(service, name))).text
    )

    assert "<script>alert" not in page
    assert "<img" not in page
    assert "<bdi>49" not in page


@pytest.mark.parametrize("mark", [BIDI, ZERO_WIDTH, "\u2066", "\ufeff", "\n", "\x07"])
def test_an_apps_name_hides_nothing(service: Service, mark: str) -> None:
    """C06."""
    client_id = new_app(service, f"Cla{mark}ude" + "x" * 80)
    page = signed_in(service, new_person(service)).get(authorize_address(client_id)).text

    assert ("Cla udexxx" if mark == "\n" else "Claudexxx") in page
    assert "x" * 60 not in page
    assert mark not in page.replace("\n", "") or mark == "\n"


@pytest.mark.parametrize("name", ["\u3164", "\u2800\u2800", "\u0301", "\ufe0f\u034f"])
def test_an_app_whose_name_cannot_be_seen_has_none(service: Service, name: str) -> None:
    """C06."""
    browser = signed_in(service, new_person(service))

    page = browser.get(authorize_address(new_app(service, name))).text

    assert "<bdi>An app without a name</bdi>" in page


@pytest.mark.parametrize(
    "data", [{}, {"decision": "approve"}, {"decision": "approve", "token": "0" * 64}]
)
def test_an_approval_without_the_pages_token_gives_no_code(
    service: Service, data: dict[str, str]
) -> None:
    """C08 and C10."""
    account, address = new_person(service), authorize_address(new_app(service))
    browser = signed_in(service, account)

    assert no_code(browser.post(address, data=data))
    assert grants_of(service, account) == []


def test_an_approval_with_the_token_of_another_session_gives_no_code(service: Service) -> None:
    """C09 and C14: the form of a page rendered for one user is refused from another."""
    mallory, ada = new_person(service), new_person(service)
    address = authorize_address(new_app(service))
    stolen = signed_in(service, mallory).form(address)

    assert no_code(signed_in(service, ada).submit(stolen, decision="approve"))
    assert grants_of(service, ada) == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_an_approval_from_another_site_gives_no_code_even_with_the_token(
    service: Service, headers: dict[str, str]
) -> None:
    """C11."""
    account, address = new_person(service), authorize_address(new_app(service))
    browser = signed_in(service, account)

    assert no_code(browser.submit(browser.form(address), headers=headers, decision="approve"))
    assert grants_of(service, account) == []


@pytest.mark.parametrize(
    "headers",
    [{}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}, {"Origin": "{own}"}],
)
def test_an_approval_from_this_site_is_taken(service: Service, headers: dict[str, str]) -> None:
    own = {name: value.format(own=service.url) for name, value in headers.items()}
    browser = signed_in(service, new_person(service))
    form = browser.form(authorize_address(new_app(service)))

    assert "code" in parameters(browser.submit(form, headers=own, decision="approve"))


def test_nothing_is_approved_by_a_link(service: Service) -> None:
    """C12."""
    account, address = new_person(service), authorize_address(new_app(service))
    browser = signed_in(service, account)
    token = browser.form(address).fields["token"]

    answer = browser.get(f"{address}&decision=approve&token={token}")

    assert "location" not in answer.headers or "code=" not in answer.headers["location"]
    assert grants_of(service, account) == []


@pytest.mark.parametrize("change", ["client_id", "redirect_uri", "state", "code_challenge"])
def test_what_was_shown_is_what_is_approved(service: Service, change: str) -> None:
    """C13: the app, address, state or challenge changes between the page and the post."""
    account, client_id = new_person(service), new_app(service)
    other = {
        "client_id": new_app(service, "Evil", "https://evil.example/cb"),
        "redirect_uri": "https://evil.example/cb",
        "state": "other",
        "code_challenge": "x" * 43,
    }[change]
    browser = signed_in(service, account)
    form = browser.form(authorize_address(client_id))

    form.action = authorize_address(client_id, **{change: other})
    assert no_code(browser.submit(form, decision="approve"))
    form.action = authorize_address(client_id)
    beside = browser.submit(form, decision="approve", **{change: other})

    assert parameters(beside)["state"] == ["xyz"]
    assert [grant.client_id for grant in grants_of(service, account)] == [client_id]


@pytest.mark.parametrize("decision", ["", "maybe", "Approve"])
def test_no_decision_is_no_approval(service: Service, decision: str) -> None:
    account, address = new_person(service), authorize_address(new_app(service))
    browser = signed_in(service, account)

    assert no_code(browser.submit(browser.form(address), decision=decision))
    assert grants_of(service, account) == []


def test_an_approval_after_the_session_ended_asks_to_sign_in_and_comes_back(
    service: Service,
) -> None:
    account, address = new_person(service), authorize_address(new_app(service))
    browser = signed_in(service, account)
    form = browser.form(address)
    browser.submit(browser.form("/keys", "/sign-out"))

    answer = browser.submit(form, decision="approve")
    came_back = browser.submit(
        browser.form(answer.headers["location"], "/sign-in"), email=account.email, password=PASSWORD
    )

    assert came_back.headers["location"] == address
    assert grants_of(service, account) == []


@pytest.mark.parametrize("signed", [True, False])
@pytest.mark.parametrize("fault", ["client_id", "redirect_uri"])
def test_a_request_that_names_no_known_app_is_a_page(
    service: Service, fault: str, signed: bool
) -> None:
    browser = signed_in(service, new_person(service)) if signed else Browser(service)

    answer = browser.get(authorize_address(new_app(service), **{fault: "https://evil.example/"}))

    assert answer.status_code == 400
    assert "location" not in answer.headers
    assert "evil.example" not in answer.text


def test_a_broken_request_reaches_the_app_only_once_the_visitor_signed_in(
    service: Service,
) -> None:
    """A22 (RFC 9700 section 4.11.2)."""
    account = new_person(service)
    address = authorize_address(new_app(service), response_type="token")
    browser = Browser(service)

    anonymous = browser.get(address)
    browser.sign_in(account.email)
    answer = browser.get(address)

    assert anonymous.headers["location"].startswith("/sign-in?next=")
    assert parameters(answer)["error"] == ["unsupported_response_type"]


SITE = "https://evil.example/phish?x=1"


def broken(client_id: str, redirect_uri: str = SITE) -> str:
    return authorize_address(client_id, response_type="nope", redirect_uri=redirect_uri)


@pytest.mark.parametrize("redirect_uri", [SITE, "cursor://evil/cb"])
def test_no_link_alone_sends_a_visitor_who_signed_in_to_any_site(
    service: Service, redirect_uri: str
) -> None:
    """RFC 9700 section 4.11.2: the page names the site, and the person may go on to it."""
    browser = signed_in(service, new_person(service))
    client_id = new_app(service, "Evil<b>", redirect_uri)

    answer = browser.get(broken(client_id, redirect_uri))

    assert answer.status_code == 400
    assert "location" not in answer.headers
    link = html.unescape(answer.text.partition('<a href="' + redirect_uri[:9])[2].partition('"')[0])
    assert "error=unsupported_response_type" in link
    assert "state=xyz" in link
    assert "code=" not in link
    assert "Evil&lt;b&gt;" in answer.text
    assert "unsupported_response_type" in answer.text


def test_an_app_that_the_account_approved_is_told_what_is_wrong_at_once(service: Service) -> None:
    account, client_id = new_person(service), new_app(service, "Known", SITE)
    browser, other = signed_in(service, account), signed_in(service, new_person(service))
    browser.submit(
        browser.form(authorize_address(client_id, redirect_uri=SITE)), decision="approve"
    )

    told = browser.get(broken(client_id))
    assert told.status_code == 303
    assert told.headers["location"].startswith(SITE + "&error=unsupported_response_type")
    assert other.get(broken(client_id)).status_code == 400

    prefix = grants_of(service, account)[0].prefix
    on_database(service, lambda database: Grants(database).revoke_grant(account.id, prefix))
    assert browser.get(broken(client_id)).status_code == 400


def test_a_consent_form_works_once(service: Service) -> None:
    account, address = new_person(service), authorize_address(new_app(service))
    browser = signed_in(service, account)
    form = browser.form(address)

    first = browser.submit(form, decision="approve")
    again = [browser.submit(form, decision="approve") for _ in range(3)]
    anew = browser.submit(browser.form(address), decision="approve")

    assert "code" in parameters(first)
    assert [answer.status_code for answer in again] == [409] * 3
    assert "used already. Start again from the app." in again[0].text
    assert "code" in parameters(anew)
    assert len(grants_of(service, account)) == 2


def test_of_simultaneous_posts_of_a_form_one_approves(service: Service) -> None:
    account, address = new_person(service), authorize_address(new_app(service))
    browser = signed_in(service, account)
    form = browser.form(address)

    with ThreadPoolExecutor(8) as executor:
        posts = [executor.submit(browser.submit, form, decision="approve") for _ in range(8)]
    statuses = sorted(post.result().status_code for post in posts)

    assert statuses == [303] + [409] * 7
    assert len(grants_of(service, account)) == 1


def test_the_token_of_a_consent_form_is_hexadecimal_and_new_each_time(service: Service) -> None:
    account, address = new_person(service), authorize_address(new_app(service))
    browser = signed_in(service, account)

    tokens = {browser.form(address).fields["token"] for _ in range(3)}

    assert len(tokens) == 3
    assert all(re.fullmatch(r"[0-9a-f]{96}", token) for token in tokens)


def test_a_consent_form_is_out_of_date_after_an_hour(night: Path, tmp_path: Path) -> None:
    copy_night(night, tmp_path)
    now = [utc_now()]
    with serving(tmp_path, clock=lambda: now[0]) as live:
        account, address = new_person(live), authorize_address(new_app(live))
        browser = signed_in(live, account)
        form, used = browser.form(address), browser.form(address)
        browser.submit(used, decision="approve")
        now[0] += dt.timedelta(minutes=59)
        in_time = browser.submit(form, decision="refuse")
        now[0] += dt.timedelta(minutes=1)
        answers = [browser.submit(one, decision="approve") for one in (form, used)]
        granted = grants_of(live, account)

    assert in_time.status_code == 303
    assert [answer.status_code for answer in answers] == [403, 403]
    assert "out of date" in answers[0].text
    assert len(granted) == 1


@pytest.mark.parametrize("place", [0, 8, 31, 32, 95])
def test_a_consent_form_with_another_nonce_or_signature_is_refused(
    service: Service, place: int
) -> None:
    account, address = new_person(service), authorize_address(new_app(service))
    browser = signed_in(service, account)
    form = browser.form(address)
    token = form.fields["token"]
    other = "0" if token[place] != "0" else "1"

    answer = browser.submit(
        form, decision="approve", token=token[:place] + other + token[place + 1 :]
    )

    assert no_code(answer)
    assert grants_of(service, account) == []


def test_the_token_of_another_form_approves_nothing_and_the_other_way_round(
    service: Service,
) -> None:
    account, address = new_person(service), authorize_address(new_app(service))
    browser = signed_in(service, account)
    once, lasting = browser.form(address).fields["token"], browser.form("/keys").fields["token"]

    assert no_code(browser.submit(browser.form(address), decision="approve", token=lasting))
    assert browser.submit(browser.form("/keys"), name="x", token=once).status_code == 403
    assert browser.submit(browser.form("/keys"), name="x", token=once[32:]).status_code == 403


def test_an_app_may_be_let_in_to_only_read(service: Service) -> None:
    account, client_id = new_person(service, tracked=("AAPL",)), new_app(service)
    browser = signed_in(service, account)
    address = authorize_address(client_id)

    browser.submit(browser.form(address), decision="approve")
    answer = browser.submit(browser.form(address), decision="approve", read_only="yes")
    token = httpx.post(
        f"{service.url}/oauth/token",
        data={
            "grant_type": "authorization_code",
            "code": parameters(answer)["code"][0],
            "client_id": client_id,
            "code_verifier": VERIFIER,
            "redirect_uri": CALLBACK,
        },
    ).json()
    refused = service.request("PATCH", "/tickers", key=token["access_token"], json={"add": ["IBM"]})

    assert token["scope"] == "patterns"
    assert [grant.read_only for grant in grants_of(service, account)] == [False, True]
    assert service.get("/me", key=token["access_token"]).json()["key"]["read_only"] is True
    assert (refused.status_code, refused.json()["error"]) == (403, "forbidden")
    assert "may only read" in browser.get("/keys").text


def test_an_account_with_very_many_apps_is_told_to_revoke_one(service: Service) -> None:
    account, client_id = new_person(service), new_app(service)
    browser = signed_in(service, account)

    async def fill(database: Database) -> None:
        for _ in range(50):
            await Grants(database).approve(account.id, client_id, "App", CALLBACK, "challenge")

    on_database(service, fill)
    answer = browser.submit(browser.form(authorize_address(client_id)), decision="approve")

    assert answer.status_code == 409
    assert "revoke one first" in answer.text


def test_approving_very_often_has_to_wait(service: Service) -> None:
    account, client_id = new_person(service), new_app(service)
    browser, address = signed_in(service, account), authorize_address(client_id)
    statuses = [
        browser.submit(browser.form(address), decision="approve").status_code for _ in range(30)
    ]

    answer = browser.submit(browser.form(address), decision="approve")

    assert statuses == [303] * 30
    assert answer.status_code == 429
    assert 3500 < int(answer.headers["retry-after"]) <= 3600
    assert len(grants_of(service, account)) == 30

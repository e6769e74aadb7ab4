"""The activity page: owners read what happened to their account, and nobody else's."""

from __future__ import annotations

import re

import pytest

from screener.web.account.account import ACTIVITY, EVENTS_A_PAGE, WORDS, agent_name, browser_of
from store.accounts.accounts import Account, utc_now
from store.accounts.audit import Actor, EventKind, add_event
from store.database.database import Database
from tests.screener.web.browser import FIREFOX, SAFARI, Browser
from tests.screener.web.people import authorize_address, events_of, new_app, new_person, signed_in
from tests.service import Service, on_database

CHROME = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/130.0.0.0 Safari/537.36"
)


def add_events(
    service: Service, account: Account, kind: EventKind, actor: Actor, count: int
) -> None:
    async def work(database: Database) -> None:
        async with database.write() as connection:
            for number in range(count):
                await add_event(connection, kind, actor, utc_now(), account.id, f"event {number}")

    on_database(service, work)


def events_on(page: str) -> list[str]:
    """The events that a page shows, each as one line of text."""
    items = re.findall(r"<li>(.*?)</li>", page, re.DOTALL)
    return [" ".join(re.sub(r"<[^>]*>", " ", item).split()) for item in items]


def test_owners_read_what_they_did_from_where_and_with_what(service: Service) -> None:
    account = new_person(service)
    browser = Browser(service, headers={"User-Agent": FIREFOX})
    browser.sign_in(account.email)
    made = browser.submit(browser.form("/keys"), name="laptop").text
    secret = re.search(r'<code id="secret">([^<]+)</code>', made)
    assert secret
    prefix = secret[1][:16]
    browser.submit(browser.form("/keys"), revoke=prefix)
    address = authorize_address(new_app(service, "A <b>bold</b> host"))
    assert browser.submit(browser.form(address), decision="approve").status_code == 303

    page = browser.get(ACTIVITY)
    shown = events_on(page.text)

    assert page.headers["cache-control"] == "no-store"
    assert [line.partition(" 20")[0] for line in shown][1:4] == [
        f"Key revoked {prefix} laptop",
        f"Key created {prefix} laptop",
        "Signed in",
    ]
    assert re.fullmatch(r"App approved \S+ A &lt;b&gt;bold&lt;/b&gt; host 20.*", shown[0])
    assert all(line.endswith("UTC from 127.0.0.1 with Firefox on Linux") for line in shown[:4])
    assert shown[4].endswith("by the operator of this service")
    assert secret[1] not in page.text
    actors = [event.actor for event in events_of(service, account)]
    assert actors == ["owner", "owner", "owner", "owner", "operator"]


def test_a_failed_sign_in_is_shown_and_marked(service: Service) -> None:
    account = new_person(service)
    thief = Browser(service, headers={"User-Agent": CHROME})
    assert thief.sign_in(account.email, "not the password").status_code == 400

    first = events_on(signed_in(service, account).get(ACTIVITY).text)[1]

    assert "Sign-in failed" in first
    assert "was this you?" in first
    assert first.endswith("from 127.0.0.1 with Chrome on Windows")


def test_nobody_reads_what_happened_to_another(service: Service) -> None:
    account, other = new_person(service), new_person(service)
    add_events(service, other, EventKind.KEY_CREATED, Actor("owner", "203.0.113.9"), 3)

    shown = events_on(signed_in(service, account).get(ACTIVITY).text)
    stranger = Browser(service).get(ACTIVITY)

    assert len(shown) == len(events_of(service, account)) == 2
    assert stranger.status_code == 303
    assert stranger.headers["location"].startswith("/sign-in")


def test_the_pages_show_each_event_once(service: Service) -> None:
    account = new_person(service)
    add_events(service, account, EventKind.PLAN_CHANGED, Actor("operator"), 2 * EVENTS_A_PAGE)
    browser, shown, address = signed_in(service, account), list[str](), ACTIVITY
    for _ in range(3):
        page = browser.get(address).text
        shown += events_on(page)
        older = re.search(rf'href="({ACTIVITY}\?before=\d+)">Older', page)
        address = older[1] if older else ""

    assert address == ""
    assert len(shown) == len(events_of(service, account)) == 2 * EVENTS_A_PAGE + 2
    assert "Signed in" in shown[0]
    assert "Account created" in shown[-1]
    assert "There is nothing older." in browser.get(f"{ACTIVITY}?before=0").text


def test_a_page_that_cannot_be_is_not_found(browser: Browser) -> None:

    for before in ("", "x", "-1", "1e3", "9" * 10, "9" * 5000, "٣"):
        assert browser.get(ACTIVITY, params={"before": before}).status_code == 404, before
    assert f'href="{ACTIVITY}"' in browser.get("/usage").text


def test_there_are_words_for_every_kind() -> None:
    assert set(WORDS) == set(EventKind)


@pytest.mark.parametrize(
    ("agent", "browser", "program"),
    [
        (FIREFOX, "Firefox on Linux", ""),
        (SAFARI, "Safari on iPhone", ""),
        (CHROME, "Chrome on Windows", ""),
        (f"{CHROME} Edg/130.0", "Edge on Windows", ""),
        ("Mozilla/5.0 (Linux; Android 10) Chrome/130.0.0.0 Safari/537.36", "Chrome on Android", ""),
        ("Mozilla/5.0 (Macintosh) Version/18.5 Safari/605.1.15", "Safari on macOS", ""),
        ("Mozilla/5.0", "An unknown browser", ""),
        ("curl/8.5.0", "An unknown browser", "curl/8.5.0"),
        ("<script>Firefox/", "Firefox", "<script>Firefox/"),
        ("x" * 200, "An unknown browser", "x" * 60),
    ],
)
def test_agents_are_named_for_people(agent: str, browser: str, program: str) -> None:
    assert browser_of(agent) == browser
    assert agent_name(agent) == (program or browser)
    assert (browser_of(""), agent_name("")) == ("An unknown browser", "")

"""Saved screens: what entered and left each since the night before, as a page and as a feed.

Over 400 lines, because page, feed and list are compared over the same two nights.
"""

from __future__ import annotations

import datetime as dt
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from mcp_server.operations.arguments import ScanArguments
from mcp_server.operations.screen_changes import ComparedScreens, screen_changes
from screener.web.screens import saved_screens, screen_feed
from store.accounts import screens
from store.accounts.accounts import AccountPlan, utc_now
from store.accounts.screens import Screens
from store.nights.nights import Nights
from store.wire.currency import money
from store.wire.view import SetupView
from store.wire.words import place_words, state_words
from tests.books import Content, Fields
from tests.contract.market import active_book
from tests.resealed import reseal_next, withdraw
from tests.screener.web.browser import Browser, Forms
from tests.screener.web.market import COPIES, make_market
from tests.screener.web.people import age_sign_in, events_of, new_member, new_person, signed_in
from tests.screener.web.tree import Document, words
from tests.service import PASSWORD, Service, copy_night, on_database, serving

ALL = "/screen?status=all"
CHEAP = f"{ALL}&filters=" + quote('[{"kind":"price","op":"<","value":100000}]')
"""A screen that every setup matches, until the evidence of its price is changed."""

ATOM = "{http://www.w3.org/2005/Atom}"
GONE, LOST, NEW = 1, 4, 6
"""The ranks of setups that are gone in the later night, match no more, and are new under the name
of a lineage of their own."""


SESSION = dt.date(2012, 10, 4)
"""The session of the later night; the earlier one is the tests' own."""


def seal_later(
    night: Path,
    folder: Path,
    change: Callable[[Content], None],
    changes: Sequence[Fields] = (),
) -> None:
    """Put a copy of a night into a folder, and the night after it: the same, but changed."""
    copy_night(night, folder)
    reseal_next(folder, change, SESSION, changes)


def set_row(content: Content, rank: int, **fields: Any) -> None:
    """Change fields of a row of the scan."""
    content.scan[rank - 1] |= fields


@pytest.fixture(scope="module")
def views(night: Path) -> Iterator[list[SetupView]]:
    """The setups of the earlier night, in the order of rank."""
    with closing(active_book(night)) as book:
        yield list(book.scan.rows)


@pytest.fixture(scope="module")
def later(
    night: Path, views: list[SetupView], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """A service on the later night: of one lineage nothing is there, another has a new price, and
    a third is a new one in its place."""

    def change(content: Content) -> None:
        set_row(content, GONE, lineage_id="another")
        set_row(content, NEW, lineage_id="entered")
        content.numbers("price")[LOST - 1] = 1e6

    stopped = {"change": "stopped", "reason": "stop", "lineage_id": views[GONE - 1].lineage_id}
    folder = tmp_path_factory.mktemp("later")
    seal_later(night, folder, change, [stopped])
    with serving(folder) as live:
        yield live


@pytest.fixture
def browser(later: Service) -> Browser:
    """A browser in which somebody new is signed in on the later night."""
    return signed_in(later, new_person(later))


def saved(browser: Browser, address: str = ALL, name: str = "Mine", **fields: str) -> str:
    """The path of a screen that a person saved by the form on the screen."""
    answer = browser.submit(browser.form(address, "/screens"), name=name, **fields)
    assert answer.status_code == 303, answer.text
    return answer.headers["location"]


def symbols(page: str, section: str) -> list[str]:
    """The symbols of the setups that a section of a page lists."""
    [found] = [
        one
        for one in Document(page).root.all("section")
        if one.attributes.get("aria-labelledby") == section
    ]
    return [strong.text for strong in found.all("strong")]


def feed_of(browser: Browser, path: str, **fields: str) -> str:
    """The address of the feed of a screen, as the page shows it once."""
    form = next(form for form in Forms(browser.get(path).text).found if form.action == path)
    page = browser.post(path, data={**form.fields, "feed": "new", **fields})
    [address] = re.findall(r"http[^\s<]+/feeds/pso_feed_\w+", page.text)
    return str(address)


def parsed(text: str) -> ET.Element:
    """A feed, which must be well-formed."""
    return ET.fromstring(text)  # noqa: S314 - our own


def entries(text: str) -> list[dict[str, str]]:
    """The entries of a feed."""
    root = parsed(text)
    return [
        {part.tag.removeprefix(ATOM): part.text or "" for part in entry}
        for entry in root.findall(f"{ATOM}entry")
    ]


def test_a_screen_tells_which_setups_entered_and_left_since_the_night_before(
    browser: Browser, views: list[SetupView]
) -> None:

    page = browser.get(saved(browser, CHEAP)).text

    gone, lost, new = (views[rank - 1] for rank in (GONE, LOST, NEW))
    assert sorted(symbols(page, "entered")) == sorted([gone.symbol, new.symbol])
    assert sorted(symbols(page, "left")) == sorted([gone.symbol, lost.symbol, new.symbol])
    assert len(symbols(page, "stayed")) == len(views) - 3
    text = words(page)
    assert re.search(rf"{views[0].as_of} .*2 entered and 3 left", text)
    assert f"As of {SESSION}" in text
    assert "Stopped: " in text
    assert f"No longer matches: now {state_words(lost)}, {place_words(lost)}" in text
    assert "No longer listed" in text
    assert "not investment advice" in text


def test_what_changed_in_a_screen_is_worked_out_once_a_night(night: Path, tmp_path: Path) -> None:
    seal_later(night, tmp_path, partial(set_row, rank=NEW, lineage_id="entered"))
    compared, everything = ComparedScreens(), ScanArguments(status="all")
    with closing(active_book(tmp_path)) as later, closing(active_book(night)) as earlier:
        found = compared.of(everything, later, earlier)
        again = compared.of(ScanArguments(status="all"), later, earlier)
        back = compared.of(everything, earlier, later)
        [entered] = found.entered
        mine = compared.of(everything, later, earlier, {entered.symbol})
        narrow = ComparedScreens(kept_bytes=1)
        unkept = [narrow.of(everything, later, earlier) for _ in range(2)]

    assert again is found
    assert [view.lineage_id for view in found.entered] == ["entered"]
    assert [gone.view.lineage_id for gone in back.left] == ["entered"]
    assert mine.entered == [entered]
    assert {view.symbol for view in mine.stayed} <= {entered.symbol}
    assert {gone.view.symbol for gone in mine.left} == {entered.symbol}
    assert unkept[0] == unkept[1] == found
    assert unkept[0] is not unkept[1]


def test_each_attempt_of_a_formation_enters_and_leaves_by_itself(
    night: Path, views: list[SetupView], tmp_path: Path
) -> None:
    """A second attempt may break out, or end, while the trade of the first runs."""
    first, second = views[NEW - 1], views[GONE - 1]

    def change(content: Content) -> None:
        attempt = {"number": 2, "count": 2}
        set_row(content, GONE, lineage_id=first.lineage_id, attempt=attempt)

    seal_later(night, tmp_path, change)
    with closing(active_book(tmp_path)) as later, closing(active_book(night)) as earlier:
        forth = screen_changes(ScanArguments(status="all"), later, earlier)
        back = screen_changes(ScanArguments(status="all"), earlier, later)

    assert forth.size == len(later.scan.rows)
    assert [(view.symbol, view.attempt) for view in forth.entered] == [(second.symbol, 2)]
    left = [(gone.view.attempt, gone.reason) for gone in back.left]
    assert left == [(2, "No longer listed")], "not how the first attempt stands"


def test_a_screen_of_the_watchlist_holds_tracked_tickers_alone(
    later: Service, views: list[SetupView]
) -> None:
    mine = views[NEW - 1].symbol
    browser = signed_in(later, new_person(later, tracked=(mine,)))

    path = saved(browser, tracked_only="yes")
    page = browser.get(path).text

    assert symbols(page, "stayed") == []
    assert symbols(page, "entered") == symbols(page, "left") == [mine]
    assert "in your watchlist" in page
    assert "watchlist only" in words(browser.get("/screens").text)
    assert {
        entry["title"].split(": ")[1] for entry in entries(httpx.get(feed_of(browser, path)).text)
    } == {mine}


def test_the_list_names_each_screen_with_its_counts_and_removes_it(browser: Browser) -> None:
    path = saved(browser, CHEAP, "Cheap & <b>cheerful</b>")
    saved(browser, name="Everything")

    page = browser.get("/screens").text
    assert "2 of 50" in words(page)
    assert "2 entered and 3 left" in words(page)
    assert "Cheap &amp; &lt;b&gt;cheerful&lt;/b&gt;" in page
    form = browser.form("/screens")
    answer = browser.post("/screens", data={**form.fields, "remove": path.split("/")[-1]})

    assert answer.headers["location"] == "/screens"
    assert "cheerful" not in browser.get("/screens").text
    assert browser.get(path).status_code == 404


def test_the_same_screen_is_saved_once_however_its_address_is_spelled(browser: Browser) -> None:
    path = saved(browser, CHEAP, "One")

    token = browser.form("/screens", "/screens").fields
    same = quote('[{"value": 1e5, "op": "<", "kind": "price"}]')
    respelled = f"/screen?filters={same}&direction=&offset=2&status=ALL&kind=rsi&op=%3C&value="
    answer = browser.post("/screens", data={**token, "address": respelled, "name": "Two"})

    assert answer.headers["location"] == path
    assert words(browser.get("/screens").text).count("since the night of") == 1
    assert "Two" in browser.get(path).text


def test_a_screen_that_cannot_be_saved_says_why_and_keeps_what_was_typed(browser: Browser) -> None:
    saved(browser, name="Taken")
    form = browser.form(CHEAP, "/screens")

    for fields, why in (
        ({"name": "Taken"}, "this name"),
        ({"name": "x" * 101}, "1 to 100 "),
        ({"name": "x", "address": "/screen?family=square"}, "cannot be run"),
        ({"name": "x", "address": "/screen?filters=" + "9" * 9000}, "cannot be run"),
    ):
        answer = browser.submit(form, **fields)
        assert answer.status_code == 400
        assert why in words(answer.text)
        assert f'value="{fields["name"]}"' in answer.text
    assert "1 of 50" in words(browser.get("/screens").text)


@pytest.mark.parametrize(
    "address",
    [
        "",
        "http://[",
        "//x",
        "/screen?" + "kind=rsi&" * 3000,
        "/screen?filters=%ED%A0%80[[[[",
        "?\u202e",
    ],
)
def test_whatever_a_form_sends_as_an_address_is_a_screen_or_is_refused(
    browser: Browser, address: str
) -> None:
    answer = browser.submit(browser.form(ALL, "/screens"), name="x", address=address)
    assert answer.status_code in (303, 400)
    kept = re.findall(r'href="(/screens/\d+)"', browser.get("/screens").text)
    assert len(kept) == (answer.status_code == 303)
    for path in kept:
        assert 'href="/screen"' in browser.get(path).text


def test_a_screen_too_many_is_refused_in_words(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screens, "MAX_SCREENS", 1)
    saved(browser, CHEAP)
    answer = browser.submit(browser.form(ALL, "/screens"), name="one more")
    assert answer.status_code == 400
    assert "remove one first" in answer.text


def test_nobody_opens_changes_or_removes_the_screen_of_somebody_else(later: Service) -> None:
    owner, other = (signed_in(later, new_person(later)) for _ in range(2))
    path = saved(owner)
    mine = saved(other)
    token = other.form(mine).fields["token"]
    number = path.split("/")[-1]

    assert other.get(path).status_code == 404
    assert other.post(path, data={"token": token, "feed": "new"}).status_code == 403
    form = other.form("/screens", "/screens")
    assert other.post("/screens", data={**form.fields, "remove": number}).status_code == 404
    assert owner.get(path).status_code == 200


@pytest.mark.parametrize("number", ["0", "-1", "x", "9" * 5000, "1 ", "%00"])
def test_an_address_with_another_number_is_no_screen(browser: Browser, number: str) -> None:
    assert browser.get(f"/screens/{number}").status_code == 404


def test_a_plan_without_the_scan_lists_and_removes_screens_and_sees_none(later: Service) -> None:
    account, browser = new_member(later)
    path = saved(browser)
    address = feed_of(browser, path)
    form = browser.form(ALL, "/screens")
    later.accounts(lambda accounts: accounts.set_plan(account.email, AccountPlan.NONE))

    assert browser.get(path).status_code == 403
    assert httpx.get(address).status_code == 404
    assert browser.submit(form, name="again").status_code == 403
    page = browser.get("/screens").text
    assert "Mine" in page
    assert "since the night of" not in page
    removed = browser.post("/screens", data={**browser.form("/screens").fields, "remove": path[9:]})
    assert removed.status_code == 303


def test_a_stranger_signs_in_first(later: Service) -> None:
    for path in ("/screens", "/screens/1"):
        answer = Browser(later).get(path)
        assert answer.headers["location"].startswith("/sign-in?next=%2Fscreens")


def test_a_feed_tells_what_the_page_tells_as_atom(later: Service, views: list[SetupView]) -> None:
    browser = signed_in(later, new_person(later))
    path = saved(browser, CHEAP, "Cheap & <b>")

    answer = httpx.get(feed_of(browser, path))
    root = parsed(answer.text)
    found = entries(answer.text)

    assert answer.headers["content-type"] == "application/atom+xml; charset=utf-8"
    assert answer.headers["cache-control"] == "private, no-cache"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert root.findtext(f"{ATOM}title") == "Cheap & <b>"
    assert root.findtext(f"{ATOM}updated") == f"{SESSION}T00:00:00Z"
    assert root.findtext(f"{ATOM}id") == f"{later.url}{path}"
    assert [entry["title"].split(":")[0] for entry in found] == ["Entered"] * 2 + ["Left"] * 3
    assert len({entry["id"] for entry in found}) == len(found)
    for entry in found:
        assert dt.datetime.fromisoformat(entry["updated"]).tzinfo == dt.UTC
        assert "As of " in entry["content"]
        assert entry["content"].endswith("not investment advice.")
        assert "won" not in entry["content"]
    assert "pso_feed_" not in answer.text


def test_a_feed_tells_of_the_last_ten_nights_for_a_reader_that_was_away(
    data_dir: Path, views: list[SetupView]
) -> None:
    days = [SESSION + dt.timedelta(days=number) for number in range(12)]
    for number, day in enumerate(days):
        renamed = partial(set_row, rank=NEW, lineage_id=f"entered{number}")
        reseal_next(data_dir, renamed, day)
    with serving(data_dir) as live:
        browser = signed_in(live, new_person(live))
        address = feed_of(browser, saved(browser))
        found = entries(httpx.get(address).text)
        again = httpx.get(address).text

    told = [(entry["updated"][:10], entry["title"].split(":")[0]) for entry in found]
    assert told == [(str(day), kind) for day in days[:1:-1] for kind in ("Entered", "Left")]
    assert len({entry["id"] for entry in found}) == 20
    assert entries(again) == found
    assert all(entry["title"].split(": ")[1] == views[NEW - 1].symbol for entry in found)


def test_a_setup_that_triggered_is_told_where_it_stays_in_the_screen(
    data_dir: Path, views: list[SetupView]
) -> None:
    traded = next(view for view in views if view.status == "in_progress")
    forms = partial(set_row, rank=traded.rank, status="forming")
    trades = partial(set_row, rank=traded.rank, status="in_progress")
    for number, change in enumerate((forms, trades)):
        reseal_next(data_dir, change, SESSION + dt.timedelta(days=number))
    with serving(data_dir) as live:
        browser = signed_in(live, new_person(live))
        path = saved(browser)
        page = browser.get(path).text
        feed = entries(httpx.get(feed_of(browser, path)).text)

    assert symbols(page, "triggered") == [traded.symbol]
    assert traded.symbol not in symbols(page, "stayed")
    assert "0 entered and 0 left; 1 triggered" in words(page)
    title = f"Triggered: {traded.symbol}: {traded.pattern}, {traded.directions}"
    assert [entry["title"] for entry in feed] == [title]
    assert f"entry {money(traded.plan.start, traded.currency)}" in feed[0]["content"]


def test_a_feed_that_did_not_change_is_not_sent_again(browser: Browser) -> None:
    address = feed_of(browser, saved(browser))
    first_answer = httpx.get(address)
    tag = {"If-None-Match": first_answer.headers["etag"]}

    assert httpx.get(address, headers=tag).status_code == 304
    assert httpx.head(address).headers["etag"] == first_answer.headers["etag"]
    saved(browser, name="Renamed")
    assert httpx.get(address, headers=tag).status_code == 200


def test_the_address_of_a_feed_is_shown_once_and_a_new_one_replaces_it(later: Service) -> None:
    account, browser = new_member(later)
    path = saved(browser)
    old = feed_of(browser, path)

    page = browser.get(path).text
    assert "pso_feed_" not in page
    assert "Replace the address" in page
    new = feed_of(browser, path)
    assert [httpx.get(one).status_code for one in (old, new)] == [404, 200]
    browser.post(path, data={**browser.form(path).fields, "feed": "end"})
    assert httpx.get(new).status_code == 404
    kinds = [event.kind for event in events_of(later, account)][:4]
    assert kinds == ["feed_ended", "feed_created", "feed_ended", "feed_created"]


@pytest.mark.parametrize("secret", ["pso_feed_" + "a" * 43, "pso_feed_", "x", "a" * 5000, "%00"])
def test_any_other_address_is_no_feed_in_one_line(later: Service, secret: str) -> None:
    answer = httpx.get(f"{later.url}/feeds/{secret}")
    assert answer.status_code == 404
    assert answer.headers["cache-control"] == "no-store"
    assert len(answer.text.splitlines()) == 1


def test_a_feed_takes_a_password_once_the_sign_in_is_old(later: Service) -> None:
    account, browser = new_member(later)
    path = saved(browser)
    age_sign_in(later, account, 16)
    form = browser.form(path)

    for password in ({}, {"password": "wrong wrong wrong"}):
        answer = browser.post(path, data={**form.fields, "feed": "new", **password})
        assert answer.status_code == 400
        assert "password is not right" in answer.text
    assert httpx.get(feed_of(browser, path, password=PASSWORD)).status_code == 200


def test_an_owner_makes_so_many_feeds_within_an_hour(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screens, "FEEDS_PER_HOUR", 1)
    path = saved(browser)
    feed_of(browser, path)
    answer = browser.post(path, data={**browser.form(path).fields, "feed": "new"})
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) > 3500


def test_feeds_count_as_pages_of_their_network(tmp_path: Path) -> None:
    with serving(tmp_path, other_per_minute=2) as live:
        answers = [httpx.get(f"{live.url}/feeds/x") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [404, 404, 429]
    assert int(answers[2].headers["retry-after"]) > 0
    assert answers[2].headers["content-type"].startswith("text/plain")


def test_feeds_are_in_no_document_for_programs(later: Service) -> None:
    for path in ("/api/v1/openapi.json", "/llms.txt", "/api/v1"):
        assert "/feeds" not in httpx.get(later.url + path).text
    assert "Disallow: /feeds/" in httpx.get(f"{later.url}/robots.txt").text


def test_without_the_night_before_page_and_feed_say_that_it_is_not_known(
    night: Path, views: list[SetupView], tmp_path: Path
) -> None:
    for name in ("first", "pruned", "withdrawn"):
        seal_later(night, tmp_path / name, lambda _: None)
    earlier = Nights(tmp_path / "pruned").sealed()[-1].data_version
    copy_night(night, tmp_path / "first")
    for file in (tmp_path / "pruned" / "nights").glob(f"{earlier}*"):
        file.unlink()
    withdraw(tmp_path / "withdrawn", 1, data_version=earlier, as_of_session="2012-10-03")
    for name in ("first", "pruned", "withdrawn"):
        with serving(tmp_path / name) as live:
            browser = signed_in(live, new_person(live))
            path = saved(browser)
            feed = httpx.get(feed_of(browser, path)).text
            page = browser.get(path).text
        assert "no night before to compare with" in words(page), name
        assert len(symbols(page, "stayed")) == len(views), name
        assert entries(feed) == []
        assert "not known what entered" in feed


def test_before_the_first_night_a_screen_says_so(tmp_path: Path) -> None:
    with serving(tmp_path) as live:
        account, browser = new_member(live)
        on_database(
            live,
            lambda database: Screens(database).save(account.id, "All", "{}", tracked_only=False),
        )
        page = browser.get("/screens/1")
        assert page.status_code == 200
        assert "There is no night yet" in page.text
        feed = httpx.get(feed_of(browser, "/screens/1")).text
    assert entries(feed) == []
    assert parsed(feed).findtext(f"{ATOM}updated", "").startswith(str(utc_now().date()))


@pytest.mark.parametrize("kept", ["", "[1]", "no JSON", '{"filters":[{}]}', '{"family":"square"}'])
def test_a_screen_of_an_earlier_version_that_cannot_be_run_says_so(
    later: Service, kept: str
) -> None:
    account, browser = new_member(later)
    made = on_database(
        later,
        lambda database: Screens(database).save(account.id, "Old", kept, tracked_only=False),
    )
    page = browser.get(f"/screens/{made.id}")
    assert page.status_code == 400
    assert "no longer be run" in words(page.text)
    assert "no longer be run" in words(browser.get("/screens").text)
    assert "no longer be run" in httpx.get(feed_of(browser, f"/screens/{made.id}")).text


def test_lists_are_cut_and_counted(
    night: Path, views: list[SetupView], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved_screens, "MAX_ROWS", 50)
    monkeypatch.setattr(screen_feed, "MAX_ENTRIES", 40)
    seal_later(night, tmp_path, lambda _: None)
    make_market(tmp_path)
    with serving(tmp_path) as live:
        browser = signed_in(live, new_person(live))
        path = saved(browser)
        page = browser.get(path).text
        feed = httpx.get(feed_of(browser, path)).text
    size = len(views) * COPIES
    assert len(symbols(page, "entered")) == 50
    assert words(page).count(f"And {size - 50} more") == 1
    titles = [entry["title"] for entry in entries(feed)]
    assert len([title for title in titles if title.startswith("Entered")]) == 41
    assert f"Entered: {size - 40} more" in titles

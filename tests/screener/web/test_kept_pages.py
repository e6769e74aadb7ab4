"""Pages that are kept: read again, they are what a service that has just started answers."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Template

from store.folder.progress import ProgressFile
from tests.clocks import SetClock
from tests.resealed import rename_bars, reseal, withdraw
from tests.screener.web.browser import Browser
from tests.screener.web.pages import PAGES
from tests.screener.web.people import new_person, signed_in
from tests.service import copy_night, serving

SPELLINGS = (
    *("/screen?sort=rank&utm=1", "/screen?limit=2", "/screen?limit=002", "/screen?limit=none"),
    *("/symbols/MSFT?page=2", "/symbols?search=a", "/symbols/NONE", "/families/none"),
)
ADDRESSES = sorted(
    {page.path for page in PAGES if page.who != "member" and "{" not in page.path}.union(SPELLINGS)
    - {"/sign-in", "/sign-up"}  # whose form is another one for each browser
)
VISITORS = {"open": {}, "closed": {"Via": "1.1 proxy.example"}, "member": {}}
"""What each sends: pages that are open are closed to what a proxy forwards."""
DOCUMENTS = ("/connect", "/docs", "/method", "/privacy", "/terms", "/nowhere")
UNSIGNED = {("member", address) for address in DOCUMENTS}
"""What does not say who is signed in."""
FORMS = dict.fromkeys(("/", *DOCUMENTS[:3]), ("text/html", "text/markdown"))
"""What else than HTML a page is sent as."""
OF_ONE_ANSWER = {"date", "x-request-id", "set-cookie"}


def read(browsers: dict[str, Browser]) -> dict[tuple[str, str, str], tuple[Any, ...]]:
    """What each visitor gets at every address, in each form."""
    found = {}
    for who, browser in browsers.items():
        for address in ADDRESSES:
            for form in FORMS.get(address, ("text/html",)):
                answer = browser.get(address, headers={**VISITORS[who], "Accept": form})
                fields = {n: v for n, v in answer.headers.items() if n not in OF_ONE_ANSWER}
                found[who, address, form] = answer.status_code, fields, answer.text
    return found


def wait_for(browser: Browser, address: str, words: str, *, shown: bool = True) -> None:
    """Ask for a page until it shows some words, or no longer does."""
    deadline = time.monotonic() + 60
    while (words in browser.get(address).text) != shown:
        assert time.monotonic() < deadline, words


def states(folder: Path, nights: tuple[Path, Path], clock: SetClock) -> Iterator[tuple[str, str]]:
    """Change what pages depend on, one after the other; which page then shows which words."""
    yield "/", "There is no night yet"
    copy_night(nights[0], folder)
    reseal(folder, change_manifest=rename_bars)
    yield "/", "This night is current"
    clock.now += dt.timedelta(days=1)
    yield "/families", "1 session has ended"
    withdraw(folder, 4)
    reseal(folder)
    yield "/symbols/MSFT", "was withdrawn on"
    with ProgressFile(folder).recording("bars.csv"):
        yield "/screen", "A nightly is running on"
    copy_night(nights[1], folder)
    yield "/method", "it never gets newer"


def test_whoever_read_a_page_before_it_is_what_a_fresh_service_answers(
    tmp_path: Path, night: Path, product_night: Path
) -> None:
    clock = SetClock(dt.datetime(2012, 10, 4, 12, tzinfo=dt.UTC))
    settings: dict[str, Any] = {
        "clock": clock,
        "open_pages": True,
        "other_per_minute": 1_000_000,
        "public_url": "http://localhost",
    }
    with serving(tmp_path, **settings) as live:
        account = new_person(live, tracked=("MSFT", "GOOG"))
        member = signed_in(live, account)
        browsers = {"member": member, "open": Browser(live), "closed": Browser(live)}
        before: dict[tuple[str, str, str], tuple[Any, ...]] = {}
        changes = states(tmp_path, (night, product_night), clock)
        for number, (address, words) in enumerate(changes):
            wait_for(browsers["open"], address, words)
            with serving(tmp_path, email=f"{number}@example.com", **settings) as fresh:
                anew = {who: Browser(fresh) for who in ("closed", "open", "member")}
                anew["member"].cookies = member.cookies
                expected = read(anew)
            assert read(browsers) == expected
            again = read({who: browsers[who] for who in ("closed", "open")})
            assert again.items() <= expected.items()
            named = {key[:2] for key, (*_, text) in expected.items() if account.email in text}
            assert named == {("member", address) for address in ADDRESSES} - UNSIGNED
            assert expected != before
            before = expected


def test_what_the_service_does_worse_is_on_the_status_page_for_as_long_as_it_does(
    data_dir: Path,
) -> None:
    manifest = data_dir / "manifest.json"
    intact = manifest.read_bytes()
    with serving(data_dir, other_per_minute=1_000_000) as live, Browser(live) as browser:
        fine = browser.get("/status").text
        manifest.write_text("{")
        wait_for(browser, "/status", "cannot be opened")
        manifest.write_bytes(intact)
        wait_for(browser, "/status", "cannot be opened", shown=False)
        assert browser.get("/status").text == fine


def test_a_page_is_rendered_once_for_everybody_whatever_else_its_address_says(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def rendered_again(*_: object, **__: object) -> None:
        raise AssertionError("a page that was kept is rendered again")

    addresses = [page.path for page in PAGES if page.who == "open" and "{" not in page.path]
    addresses += ["/", "/families", "/families/triangle", "/symbols", "/status", "/method", "/docs"]
    with serving(data_dir, open_pages=True) as live:
        first = {address: Browser(live).get(address) for address in addresses}
        monkeypatch.setattr(Template, "render", rendered_again)
        for address, answer in first.items():
            more = "&" if "?" in address else "?"
            for extra in ("", f"{more}page=99999", f"{more}utm=1"):
                again = Browser(live).get(address + extra, headers={"User-Agent": "another"})
                assert again.text == answer.text, address + extra
            same = Browser(live).get(address, headers={"If-None-Match": answer.headers["etag"]})
            assert (same.status_code, same.content) == (304, b"")
            head = Browser(live).head(address)
            assert head.headers["content-length"] == answer.headers["content-length"]


def test_a_page_that_is_kept_counts_for_its_visitor(data_dir: Path) -> None:
    with serving(data_dir, other_per_minute=3) as live, Browser(live) as browser:
        assert [browser.get("/").status_code for _ in range(5)] == [200] * 3 + [429] * 2

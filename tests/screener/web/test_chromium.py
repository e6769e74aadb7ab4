"""The pages in a real browser, which applies their policy and sends a browser's header fields."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import pytest

from store.accounts.watchlist import Watchlist
from tests.chromium import OTHER
from tests.screener.local_server import Quiet, answering
from tests.screener.web.browser import PASSWORD
from tests.screener.web.people import authorize_address, grants_of, new_app, new_person
from tests.service import Service, on_database

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page


class App(Quiet, BaseHTTPRequestHandler):
    """The app that waits for its code on this computer."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "9")
        self.end_headers()
        self.wfile.write(b"Connected")


@pytest.fixture
def callback() -> Iterator[str]:
    """The address of an app that listens."""
    with answering(App) as server:
        yield f"http://127.0.0.1:{server.server_port}/callback"


@pytest.mark.engine
def test_a_person_signs_in_makes_a_key_tracks_tickers_and_connects_an_app(
    service: Service, chromium: BrowserContext, callback: str
) -> None:
    """All pages are used by mouse and keyboard; no page may violate its own policy."""
    account, complaints = new_person(service), list[str]()
    app = new_app(service, "Claude", callback)
    chromium.grant_permissions(["clipboard-read", "clipboard-write"], origin=service.url)
    page = chromium.new_page()
    page.on("console", lambda message: complaints.append(message.text))

    page.goto(service.url + authorize_address(app, redirect_uri=callback))
    sign_in(page, account.email)
    approve(page)
    assert page.url.startswith(callback)
    assert parse_qs(urlsplit(page.url).query)["state"] == ["xyz"]
    assert page.text_content("body") == "Connected"
    assert [grant.name for grant in grants_of(service, account)] == ["Claude"]

    page.goto(f"{service.url}/keys")
    secret = make_key(page)
    assert service.get("/me", key=secret).status_code == 200
    revoke(page, "Laptop")
    assert service.get("/me", key=secret).status_code == 401

    page.get_by_role("link", name="Watchlist").click()
    track(page)
    tracked = on_database(service, lambda database: Watchlist(database).symbols(account.id))
    assert tracked == ["IBM", "AAPL"]

    page.get_by_role("contentinfo").get_by_role("button", name="Sign out").click()
    page.get_by_role("heading", name="Chart patterns, found every night").wait_for()
    assert complaints == []


def sign_in(page: Page, email: str) -> None:
    """By keyboard alone: the first field has the focus."""
    page.get_by_role("heading", name="Sign in").wait_for()
    page.keyboard.type(email)
    page.keyboard.press("Tab")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")


def approve(page: Page) -> None:
    """Wait for the consent page, and approve."""
    page.get_by_role("heading", name="Connect Claude?").wait_for()
    page.get_by_role("button", name="Approve").click()
    page.wait_for_url("**/callback?**")


def make_key(page: Page) -> str:
    """Make a key and copy its secret by the button."""
    page.get_by_label("Name of a new key").fill("Laptop")
    page.get_by_role("button", name="Create key").click()
    page.get_by_role("button", name="Copy").click()
    page.get_by_role("button", name="Copied").wait_for()
    secret: str = page.evaluate("navigator.clipboard.readText()")
    assert secret == page.text_content("#secret")
    return secret


def revoke(page: Page, name: str) -> None:
    """Open the confirmation, and confirm."""
    page.locator("summary", has_text="Revoke").first.click()
    page.get_by_role("button", name=f"Revoke {name} for good").click()
    page.get_by_role("status").wait_for()


def track(page: Page) -> None:
    """Add two tickers, and put the second first."""
    page.get_by_label("Add tickers").fill("aapl ibm")
    page.get_by_role("button", name="Add").click()
    page.get_by_role("button", name="Move IBM up").click()
    page.get_by_role("button", name="Move IBM up", disabled=True).wait_for()


READ = """async ([url, method, headers, names]) => {
    const body = method === "POST" ? '{"jsonrpc":"2.0","id":1,"method":"ping"}' : undefined;
    try {
        const answer = await fetch(url, {method, headers, body});
        const seen = names.filter(name => answer.headers.has(name));
        return [answer.status, (await answer.text()).length > 0, seen.join(" ")];
    } catch (error) {
        return [String(error)];
    }
}"""
"""What a script of a page reads of an answer, or why the browser lets it read none."""

JSON_BODY = {"Content-Type": "application/json", "MCP-Protocol-Version": "2025-11-25"}


@pytest.mark.engine
@pytest.mark.parametrize("site", [OTHER, "localhost"])
def test_a_page_of_another_site_reads_answers_and_their_fields_but_no_page(
    service: Service, chromium: BrowserContext, callback: str, site: str
) -> None:
    """A server on loopback: pages that are on loopback too may call its agent endpoints."""
    page = chromium.new_page()
    page.goto(callback.replace("127.0.0.1", site))
    key = {"Authorization": f"Bearer {service.key}"}

    def read(method: str, path: str, headers: dict[str, str], *names: str) -> list[object]:
        found: list[object] = page.evaluate(READ, [service.url + path, method, headers, names])
        return found

    limits = ("etag", "ratelimit", "ratelimit-policy")
    own = site == "localhost"
    assert read("GET", "/api/v1/me", key, *limits) == [200, True, " ".join(limits)]
    assert read("GET", "/api/v1/me", {"If-None-Match": "x"}) == [401, True, ""]
    assert read("POST", "/mcp", JSON_BODY, "www-authenticate") == [401, True, "www-authenticate"]
    assert read("POST", "/mcp", {**JSON_BODY, **key})[0] == (200 if own else 403)
    assert read("POST", "/mcp/demo", {**JSON_BODY, "Mcp-Param-X": "1"})[0] == (200 if own else 403)
    assert read("DELETE", "/mcp", key) == [405, True, ""]
    assert read("GET", "/.well-known/oauth-authorization-server", {})[0] == 200
    assert read("POST", "/oauth/register", JSON_BODY)[0] == 400
    for path in ("/", "/sign-in", "/oauth/authorize", "/keys"):
        assert read("GET", path, {}) == ["TypeError: Failed to fetch"]


@pytest.mark.engine
def test_the_links_that_add_the_service_to_a_host_break_no_policy(
    service: Service, chromium: BrowserContext
) -> None:
    complaints = list[str]()
    page = chromium.new_page()
    page.on("console", lambda message: complaints.append(message.text))

    for host, key in {"Cursor": "cursor", "VS Code": "vscode", "Goose": "goose"}.items():
        page.goto(f"{service.url}/connect#{key}")
        page.get_by_role("link", name=f"Add to {host}").click(no_wait_after=True)

    assert page.url == f"{service.url}/connect#goose"
    assert complaints == []

"""Errors outside the interfaces: a page for people, JSON for programs."""

from __future__ import annotations

import httpx
import pytest

from store.accounts.keys import Keys
from tests.screener.web.browser import Browser
from tests.service import Service, serving

CHROMIUM = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


def get(service: Service, path: str, accept: str = CHROMIUM, method: str = "GET") -> httpx.Response:
    return Browser(service).request(method, path, headers={"Accept": accept})


def check_page(answer: httpx.Response) -> None:
    """Check that a page links to the home page; the walk looks at all else of two such pages."""
    assert answer.headers["vary"] == "Accept"
    assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
    assert '<a href="/">Go to the home page</a>' in answer.text


def test_a_person_who_mistypes_an_address_gets_a_page_that_leads_home(service: Service) -> None:
    answer = get(service, "/kees<b>")

    assert answer.status_code == 404
    assert "There is no such page" in answer.text
    assert "<b>" not in answer.text
    check_page(answer)


def test_no_page_of_an_error_repeats_a_long_address(service: Service) -> None:
    address = "/" + "a" * 20_000
    mistyped = get(service, address)
    with serving(service.settings.data_dir, email="busy@example.com", other_per_minute=1) as busy:
        get(busy, "/symbols" + address)
        too_many = get(busy, "/symbols" + address)

    assert (mistyped.status_code, too_many.status_code) == (404, 429)
    assert "Try this page again" in too_many.text
    for answer in (mistyped, too_many):
        assert "a" * 200 not in answer.text


def test_a_page_that_does_not_take_a_method_says_which_it_takes(service: Service) -> None:
    answer = get(service, "/sign-out")

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    check_page(answer)


def test_a_failure_of_ours_is_a_page_without_its_reason(
    browser: Browser, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: object) -> None:
        raise RuntimeError("the reason")

    monkeypatch.setattr(Keys, "unrevoked", fail)
    page = browser.get("/keys", headers={"Accept": CHROMIUM})
    told = browser.get("/keys", headers={"Accept": "application/json"})

    assert page.status_code == told.status_code == 500
    check_page(page)
    assert told.json()["error"] == "internal_error"
    assert "the reason" not in page.text + told.text
    assert "the reason" in caplog.text


@pytest.mark.parametrize("accept", ["*/*", "application/json", "", "text/html;q=0"])
def test_a_program_gets_json_that_caches_keep_apart(service: Service, accept: str) -> None:
    answer = get(service, "/nowhere", accept)

    assert answer.status_code == 404
    assert answer.json()["error"] == "not_found"
    assert answer.headers["vary"] == "Accept"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        *(
            ("GET", path, 404)
            for path in ("/api/v1/nowhere", "/mcp/nowhere", "/.well-known/nowhere")
        ),
        *(("GET", f"/oauth/{path}", 405) for path in ("token", "register", "revoke")),
        ("DELETE", "/api/v1/me", 405),
    ],
)
def test_an_interface_answers_json_whoever_asks(
    service: Service, method: str, path: str, status: int
) -> None:
    answer = get(service, path, CHROMIUM, method)

    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["error"] in ("not_found", "method_not_allowed")

"""Public pages as Markdown, for programs that prefer it."""

from __future__ import annotations

import pytest

from tests.service import Service
from tests.web.browser import Browser
from web.pages import plain

PAGES = (
    *("/", "/docs", "/method", "/connect", "/status", "/privacy", "/terms"),
    *("/families", "/families/triangle", "/symbols/AAPL"),
)
CHROMIUM = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize("path", PAGES)
def test_a_public_page_is_sent_as_markdown_to_who_prefers_it(service: Service, path: str) -> None:
    browser = Browser(service)
    markdown = browser.get(path, headers={"Accept": "text/markdown, text/html;q=0.9, */*;q=0.1"})

    assert markdown.headers["content-type"] == "text/markdown; charset=utf-8"
    assert "Accept" in markdown.headers["vary"].replace("Accept-Encoding", "")
    assert markdown.text.startswith("# ")
    assert "<div" not in markdown.text
    assert "frame-ancestors 'none'" in markdown.headers["content-security-policy"]


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("accept", [CHROMIUM, "*/*", "text/html, text/markdown;q=0.5"])
def test_a_public_page_is_html_by_default_and_says_that_it_varies(
    service: Service, path: str, accept: str
) -> None:
    page = Browser(service).get(path, headers={"Accept": accept})

    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "Accept" in page.headers["vary"].replace("Accept-Encoding", "")


@pytest.mark.parametrize("path", ["/docs", "/method", "/connect"])
def test_a_copy_in_markdown_is_not_taken_for_one_in_html(service: Service, path: str) -> None:
    browser = Browser(service)
    markdown = browser.get(path, headers={"Accept": "text/markdown"})
    headers = {"If-None-Match": markdown.headers["etag"]}

    same = browser.get(path, headers={**headers, "Accept": "text/markdown"})
    assert same.status_code == 304
    assert "Accept" in same.headers["vary"].replace("Accept-Encoding", "")
    assert browser.get(path, headers={**headers, "Accept": CHROMIUM}).status_code == 200


def test_the_charts_of_home_are_told_with_their_records_and_the_disclaimer(
    service: Service,
) -> None:
    home = Browser(service).get("/", headers={"Accept": "text/markdown"}).text
    setup = service.get("/demo/AAPL", key="").json()["setups"][0]

    assert setup["track_record"]["family"]["summary"] in home
    assert service.get("/demo", key="").json()["as_of_session"] in home
    assert "No edge is implied" in home
    assert "not investment advice" in home


def test_a_foreign_name_means_nothing_in_markdown() -> None:
    assert plain("a\u202eb\x1bc").isprintable()
    assert plain("[a](b)\n# *c* | `d`") == r"\[a\](b) \# \*c\* \| \`d\`"

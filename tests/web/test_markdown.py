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


@pytest.mark.parametrize("path", ["/docs", "/method", "/connect"])
def test_a_copy_in_markdown_is_not_taken_for_one_in_html(service: Service, path: str) -> None:
    browser = Browser(service)
    markdown = browser.get(path, headers={"Accept": "text/markdown"})
    headers = {"If-None-Match": markdown.headers["etag"]}

    same = browser.get(path, headers={**headers, "Accept": "text/markdown"})
    assert same.status_code == 304
    assert "Accept" in same.headers["vary"].replace("Accept-Encoding", "")
    assert browser.get(path, headers={**headers, "Accept": CHROMIUM}).status_code == 200


def test_a_foreign_name_means_nothing_in_markdown() -> None:
    assert plain("a\u202eb\x1bc").isprintable()
    assert plain("[a](b)\n# *c* | `d`") == r"\[a\](b) \# \*c\* \| \`d\`"

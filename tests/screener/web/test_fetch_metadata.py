"""Fetch metadata: other sites lead people here, and can load nothing at their cost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.screener.web.browser import Browser
from tests.service import Service, serving

IMAGE = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}
LINK = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
LIMIT = 5
"""Pages of a minute, and a quarter of the pictures."""


def test_what_another_site_loads_is_refused_and_uses_up_nothing_of_its_reader(
    data_dir: Path,
) -> None:
    frame = {**IMAGE, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}
    with serving(data_dir, other_per_minute=LIMIT) as live, Browser(live) as browser:
        for path in ("/", "/events", "/symbols/MSFT/chart.png"):
            for fields in (IMAGE, frame):
                loaded = {browser.get(path, headers=fields).status_code for _ in range(5 * LIMIT)}
                assert loaded == {403}, (path, fields)
            assert browser.head(path).status_code == 200, path


@pytest.mark.parametrize(
    "fields",
    [
        {},
        LINK,
        {"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
        {**IMAGE, "Sec-Fetch-Site": "same-origin"},
    ],
)
def test_links_own_pages_and_programs_are_let_in(service: Service, fields: dict[str, str]) -> None:
    assert Browser(service).get("/status", headers=fields).status_code == 200


def test_another_site_may_show_what_is_public(service: Service) -> None:
    """The demo chart of the API, which is the preview of a shared link, and assets."""
    browser = Browser(service)
    page = browser.get("/symbols/MSFT").text
    preview = page.partition('property="og:image" content="')[2].partition('"')[0]
    asset = page.partition('rel="stylesheet" href="')[2].partition('"')[0]

    for address in (preview.removeprefix(service.settings.url), asset):
        assert browser.get(address, headers=IMAGE).status_code == 200
    assert "/api/v1/demo/MSFT/chart.png" in preview

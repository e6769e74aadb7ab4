"""The documentation: contents, a search, samples, and tables that can be read on a phone."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

import pytest

from screener.web.about.docs import load_samples
from tests.chromium import profile_of
from tests.screener.web.browser import Browser
from tests.service import Service

if TYPE_CHECKING:
    from playwright.sync_api import Browser as Program
    from playwright.sync_api import BrowserContext, Page


def test_the_contents_lead_to_every_heading_and_every_sample(service: Service) -> None:
    page = Browser(service).get("/docs").text
    contents = page[page.index('<nav class="contents"') : page.index('<div class="reference"')]
    links = re.findall(r'<a href="#([^"]+)">([^<]+)</a>', contents)

    headings = re.findall(r'<h[23] id="([^"]+)"', page)
    samples = load_samples(service.url)
    assert sorted(anchor for anchor, _ in links) == sorted(
        [*headings, *(sample.id for sample in samples)]
    )
    for anchor, _ in links:
        assert page.count(f'id="{anchor}"') == 1
    for sample in samples:
        assert sample.request in html.unescape(page)


def test_programs_read_the_reference_without_samples(service: Service) -> None:
    markdown = Browser(service).get("/docs", headers={"Accept": "text/markdown"})

    assert markdown.text == service.get("/llms.txt", key="").text


@pytest.fixture
def page(service: Service, chromium: BrowserContext) -> Page:
    """The documentation in the system's Chromium."""
    page = chromium.new_page()
    page.goto(f"{service.url}/docs")
    return page


@pytest.mark.engine
def test_the_search_finds_places_by_all_words_and_the_keyboard_reaches_them(page: Page) -> None:
    field, status = page.locator("#search"), page.get_by_role("status")
    field.fill("dist_to_entry distance")
    found = page.locator(".found a")

    assert found.count() >= 1
    assert "place" in (status.text_content() or "")
    field.press("ArrowDown")
    assert page.evaluate("document.activeElement === document.querySelector('.found a')")
    page.keyboard.press("Enter")
    target = page.evaluate("document.querySelector(':target').textContent")
    assert "dist_to_entry" in target
    field.press("Escape")
    assert found.count() == 0

    field.fill("<img src=x>")
    assert page.locator(".found img").count() == 0
    assert status.text_content() == "No places"
    field.fill("")
    assert status.text_content() == ""


@pytest.mark.engine
def test_a_sample_opens_by_its_link_and_by_the_search(page: Page) -> None:
    page.get_by_role("navigation", name="On this page").get_by_text("GET /scan").click()
    scan = page.locator("#sample-rest-get-scan")
    assert scan.is_visible()

    page.locator("#search").fill("list_tracked_tickers structuredContent")
    page.locator(".found a").first.click()
    assert page.locator("#sample-mcp-list-tracked-tickers").is_visible()


@pytest.mark.engine
def test_without_scripts_there_is_no_search_field_and_links_open_samples(
    service: Service, program: Program
) -> None:
    with profile_of(program, scripts=False) as profile:
        page = profile.new_page()
        page.goto(f"{service.url}/docs#sample-rest-get-scan")
        assert not page.locator("#search").is_visible()
        assert page.locator("#sample-rest-get-scan").is_visible()


def test_tables_can_be_scrolled_by_keyboard_and_share_no_name(service: Service) -> None:
    page = Browser(service).get("/docs").text
    tables = re.findall(r'<div class="table"([^>]*)>', page)

    assert len(tables) > 1
    assert set(tables) == {' tabindex="0"'}

"""The screen in a real browser: its scripts, its policy, and a phone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.service import Service
from tests.web.pages import Walk
from web.market.columns import USUAL

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page


@pytest.fixture
def page(market: Service, chromium: BrowserContext) -> Iterator[Page]:
    """A page that must not violate its own policy."""
    complaints, page = list[str](), chromium.new_page()
    page.set_viewport_size({"width": 390, "height": 844})
    page.route("**/chart.png*", lambda route: route.abort())
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(f"{market.url}/screen?status=all")
    yield page
    assert [text for text in complaints if "ERR_FAILED" not in text] == []


@pytest.mark.engine
def test_the_scan_is_a_table_and_its_conditions_are_added_in_place_and_applied_together(
    page: Page,
) -> None:
    table = page.get_by_role("table")  # on a phone too, where its rows are laid out as blocks
    assert table.get_by_role("columnheader").count() == len(USUAL["table"])
    assert table.get_by_role("rowheader").count() == 50
    assert table.get_by_role("cell").count() == (len(USUAL["table"]) - 1) * 50
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_label("Direction").select_option("bullish")
    for kind, value in (("RSI", "25"), ("Opening gap", "30")):
        page.get_by_label("Add a condition").select_option(label=kind)
        page.get_by_role("button", name="Add").click()
        box = page.get_by_role("textbox", name=kind)
        box.wait_for()
        assert box.evaluate("one => one === document.activeElement")
        box.fill(value)
    assert page.url.endswith("/screen?status=all")
    page.get_by_role("button", name="Show setups").click()
    page.wait_for_url("**filters=**")

    assert "direction=bullish" in page.url
    assert page.get_by_role("textbox", name="RSI").input_value() == "25"
    assert page.get_by_role("textbox", name="Opening gap").input_value() == "30"

    page.get_by_role("link", name="Remove the condition RSI").click()
    page.get_by_role("textbox", name="RSI").wait_for(state="detached")
    page.wait_for_url(lambda address: "rsi" not in address)
    assert "gap" in page.url


IN_SIGHT = """() => [...document.querySelectorAll("[data-row]")]
  .filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length"""
ROW = "document.activeElement.closest('tr')?.rowIndex ?? 0"


@pytest.mark.engine
@pytest.mark.parametrize("width", [1280, 1440, 1920])
def test_twenty_setups_are_in_sight_on_a_window_of_1000_pixels(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 1000})

    assert page.evaluate(IN_SIGHT) >= 20
    box = page.locator(".table")
    assert box.evaluate("one => one.scrollWidth <= one.clientWidth"), "no column is out of sight"


@pytest.mark.engine
def test_rows_are_walked_and_opened_and_the_search_is_found_by_the_keyboard(
    walk: Walk, chromium: BrowserContext
) -> None:
    page = chromium.new_page()
    page.goto(f"{walk.services['open'].url}/screen?status=all")
    for key, row in (("j", 1), ("j", 2), ("ArrowDown", 3), ("ArrowUp", 2), ("k", 1), ("k", 1)):
        page.keyboard.press(key)
        assert page.evaluate(ROW) == row, key
    page.keyboard.press("/")
    search = page.get_by_role("searchbox", name="Find a symbol or company")
    assert search.evaluate("one => one === document.activeElement")
    page.keyboard.type("j/k")
    assert search.input_value() == "j/k"
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("j")
    address = page.evaluate("document.activeElement.href")
    page.keyboard.press("Enter")
    page.wait_for_url("**/symbols/**")
    assert page.url == address


@pytest.mark.engine
def test_columns_are_chosen_on_the_page(page: Page) -> None:
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("Market cap").uncheck()
    page.get_by_label("Expected R (random), trades").check()
    page.get_by_role("button", name="Show setups").click()
    page.wait_for_url("**columns=**")

    heads = page.get_by_role("columnheader").all_text_contents()
    assert "Expected R (random), trades" in heads
    assert "Market cap" not in heads

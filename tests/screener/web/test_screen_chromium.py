"""The screen in a real browser: its scripts, its policy, and a phone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from screener.web.market.columns import USUAL
from tests.chromium import profile_of
from tests.screener.web.pages import Walk
from tests.service import Service

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page


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
    assert table.get_by_role("columnheader").count() == len(USUAL)
    assert table.get_by_role("rowheader").count() == 50
    assert table.get_by_role("cell").count() == (len(USUAL) - 1) * 50
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_text("Filters, order, columns").click()
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
    page.get_by_text("Filters, order, columns: 3 applied").click()
    assert page.get_by_role("textbox", name="RSI").input_value() == "25"
    assert page.get_by_role("textbox", name="Opening gap").input_value() == "30"

    page.get_by_role("link", name="Remove the condition RSI").click()
    page.get_by_role("textbox", name="RSI").wait_for(state="detached")
    page.wait_for_url(lambda address: "rsi" not in address)
    assert "gap" in page.url


@pytest.mark.engine
def test_on_a_phone_the_form_is_folded_until_it_is_wanted_with_scripts_and_without(
    market: Service, program: Browser
) -> None:
    for scripts in (True, False):
        with profile_of(program, {"width": 390, "height": 844}, scripts=scripts) as profile:
            page = profile.new_page()
            page.route("**/chart.png*", lambda route: route.abort())
            page.goto(f"{market.url}/screen?status=all")
            first = page.locator("[data-row]").first.bounding_box()
            assert first
            assert first["y"] < 600
            form = page.get_by_role("search", name="Scan")
            assert not form.is_visible()
            page.get_by_role("checkbox", name="Filters, order, columns").focus()
            page.keyboard.press("Space")
            assert form.is_visible()
            page.goto(f"{market.url}/screen?max_distance_pct=x")
            assert form.is_visible(), "what is wrong is shown"
            page.set_viewport_size({"width": 1280, "height": 844})
            page.goto(f"{market.url}/screen?status=all")
            assert form.is_visible()


IN_SIGHT = """() => [...document.querySelectorAll("[data-row]")]
  .filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length"""
ROW = "document.activeElement.closest('tr')?.rowIndex ?? 0"


PASSED = """() => document.querySelectorAll("td.place").forEach(
  (cell) => { cell.textContent = "10.34% above, already passed"; })"""
"""Makes every trigger a passed one."""


@pytest.mark.engine
@pytest.mark.parametrize("width", [1280, 1440, 1920])
def test_twenty_setups_are_in_sight_on_a_window_of_1000_pixels(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 1000})

    assert page.evaluate(IN_SIGHT) >= 20
    box = page.locator(".table")
    assert box.evaluate("one => one.scrollWidth <= one.clientWidth"), "no column is out of sight"
    page.evaluate(PASSED)
    assert box.evaluate("one => one.scrollWidth <= one.clientWidth"), "nor by a passed trigger"


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
    search = page.get_by_role("combobox", name="Find a symbol or company")
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
def test_the_setups_of_a_list_are_turned_over_by_key_but_not_while_somebody_types(
    walk: Walk, chromium: BrowserContext
) -> None:
    page, url = chromium.new_page(), walk.services["open"].url
    page.goto(f"{url}/screen?status=all")
    rows = page.locator("[data-row]").evaluate_all("all => all.map((one) => one.href)")
    page.locator("[data-row]").nth(1).click()
    page.wait_for_url(rows[1])
    turns = page.get_by_role("navigation", name="The list that led here")
    assert f"2 of {len(rows)}" in turns.inner_text()
    for key, row in (("j", 2), ("k", 1), ("k", 0), ("k", 0), ("j", 1)):
        page.keyboard.press(key)
        page.wait_for_url(rows[row])
    page.keyboard.press("/")
    page.keyboard.type("jk")
    assert page.url == rows[1]
    turns.get_by_role("link").last.click()
    page.wait_for_url(rows[2])

    page.goto(f"{url}/symbols/GOOG")
    assert (page.get_by_role("navigation", name="The list that led here").is_visible()) == any(
        "/GOOG#" in row for row in rows
    )


@pytest.mark.engine
def test_the_search_suggests_while_somebody_types_and_opens_what_is_chosen(
    walk: Walk, chromium: BrowserContext
) -> None:
    page, url = chromium.new_page(), walk.services["open"].url
    asked, complaints = list[str](), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(f"{url}/method")
    page.evaluate(TYPE, "microsof")
    option = page.locator("datalist option")
    option.wait_for(state="attached")
    assert option.evaluate_all("all => all.map(({value, text}) => [value, text])") == [
        ["MSFT", "MSFT Microsoft Corporation"]
    ]
    searches = [address for address in asked if "/symbols.json" in address]
    assert [address.split("?")[1] for address in searches] == ["search=microsof"], "it waits"
    page.evaluate(CHOOSE)  # as the browser's own list does
    page.wait_for_url("**/symbols/MSFT")
    assert complaints == []


TYPE = """(text) => {
  const box = document.querySelector(".find input");
  for (const end of text.split("").keys()) {
    box.value = text.slice(0, end + 1);
    box.dispatchEvent(new InputEvent("input", { inputType: "insertText" }));
  }
}"""
"""Faster than anybody waits."""

CHOOSE = """() => {
  const box = document.querySelector(".find input");
  box.value = "MSFT";
  box.dispatchEvent(new InputEvent("input", { inputType: "insertReplacementText" }));
}"""


@pytest.mark.engine
def test_columns_are_chosen_on_the_page(page: Page) -> None:
    page.get_by_text("Filters, order, columns").click()
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("Market cap").uncheck()
    page.get_by_label("Expectancy in R (random), trades").check()
    page.get_by_role("button", name="Show setups").click()
    page.wait_for_url("**columns=**")

    heads = page.get_by_role("columnheader").all_text_contents()
    assert "Expectancy in R (random), trades" in heads
    assert "Market cap" not in heads

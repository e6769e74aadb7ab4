"""The screen in a real browser: its scripts, its policy, and a phone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.service import Service

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
    assert table.get_by_role("columnheader").count() == 8
    assert table.get_by_role("rowheader").count() == 50
    assert table.get_by_role("cell").count() == 7 * 50
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

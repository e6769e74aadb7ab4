"""The page of a ticker in a real browser: the picture first, then the chart in the same box."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import pytest

from tests.service import Service

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

pytestmark = pytest.mark.engine

CHART = ".interactive canvas"
PLOTS = """[...document.querySelectorAll(".picture")].filter((one) => one.chart).map((one) => {
  const { chart, last } = one.chart, scale = chart.timeScale(), box = one.querySelector(".canvas");
  const drawn = [...box.querySelectorAll("canvas")].map((each) => each.getBoundingClientRect());
  return {
    box: box.getBoundingClientRect().width, plot: scale.width(),
    drawn: Math.max(...drawn.map((one) => one.right)) - Math.min(...drawn.map((one) => one.left)),
    axis: chart.priceScale("right").width(),
    ahead: scale.width() - scale.logicalToCoordinate(last),
  };
})"""
BOX = "document.querySelector('.picture').getBoundingClientRect().toJSON()"


def opened(profile: BrowserContext, address: str, width: int) -> tuple[Page, list[str], list[str]]:
    """A page with its chart, what the browser complains of, and every address that it asks for."""
    page, complaints, asked = profile.new_page(), list[str](), list[str]()
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme="light")
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.locator(CHART).first.wait_for()
    return page, complaints, asked


@pytest.mark.parametrize("width", [390, 820, 1440])
def test_the_chart_takes_the_place_of_its_picture_and_fills_its_box_but_for_the_price_axis(
    service: Service, chromium: BrowserContext, width: int
) -> None:
    """The library lays its canvases out in a table, to which rules for tables must not apply."""
    address = f"{service.url}/symbols/AAPL"
    page = chromium.new_page()
    page.set_viewport_size({"width": width, "height": 900})
    page.route("**/chart.json*", lambda route: route.abort())
    page.goto(address)
    before = page.evaluate(BOX)
    assert page.locator(".picture img").is_visible()
    page.close()

    page, complaints, asked = opened(chromium, address, width)
    # No wait_for_function: it evaluates a string in the page, which the page's policy refuses.
    [plot, *_] = page.evaluate(
        f"""() => new Promise(done => {{
            const look = () => {{
                const plots = {PLOTS};
                const isDone = plots[0].ahead > 45 || frames++ > 600;
                isDone ? done(plots) : requestAnimationFrame(look);
            }};
            let frames = 0;
            look();
        }})"""
    )

    assert plot["drawn"] == pytest.approx(plot["box"], abs=1)
    assert plot["plot"] + plot["axis"] == pytest.approx(plot["box"], abs=1)
    assert plot["axis"] < 90
    assert plot["ahead"] > 45
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate(BOX) == before
        assert not page.locator(".picture img").is_visible()
        assert page.evaluate("document.documentElement.scrollWidth") == width
        assert page.evaluate("document.querySelectorAll('style, [style*=\"@import\"]').length") == 0
    assert complaints == []
    assert {url.split("/", 3)[2] for url in asked} == {service.url.split("/", 3)[2]}
    assert page.get_by_role("link", name="https://www.tradingview.com/").is_visible()


def test_the_chart_is_read_by_keyboard_and_follows_the_theme_of_the_page(
    service: Service, chromium: BrowserContext
) -> None:
    page, complaints, _ = opened(chromium, f"{service.url}/symbols/AAPL", 1440)
    chart = page.get_by_role("img", name="Daily candles of AAPL")
    light = page.evaluate(COLOURS)

    chart.focus()
    page.keyboard.press("ArrowLeft")
    spoken = page.locator(".interactive").first.get_by_role("status")
    last = spoken.text_content()
    page.keyboard.press("ArrowLeft")
    page.emulate_media(color_scheme="dark")

    assert last
    assert spoken.text_content() != last
    for part in ("paper", "line"):  # the browser tells the chart a moment later
        page.wait_for_function(f"light => {COLOURS}.{part} !== light", arg=light[part])
    assert complaints == []


COLOURS = "document.querySelector('.picture').chart.drawing.colours"
"""The colours in which a chart is drawn."""


def test_without_scripts_or_data_the_picture_stays(
    service: Service, chromium: BrowserContext
) -> None:
    page = chromium.new_page()
    page.route("**/chart.json*", lambda route: route.fulfill(json={"bars": {"day": []}}))
    page.goto(f"{service.url}/symbols/AAPL", wait_until="networkidle")

    assert page.locator(".picture img").is_visible()
    assert page.locator(".interactive").count() == 0

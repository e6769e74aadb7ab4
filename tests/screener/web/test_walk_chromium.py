"""The walk over all pages in Chromium: at three widths, in both themes, and by keyboard."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.node import NotInstalledError, install_node
from tests.screener.web.pages import PAGES, Walk
from tests.screener.web.pictures import THEMES, WIDTHS, enter

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext
    from playwright.sync_api import Page as Tab

pytestmark = pytest.mark.engine

HERE = Path(__file__).parent
LOOKING = (HERE / "looking.js").read_text()

RULES = """async (colours) => {
  // The shades at the edges of a table hide no word, and axe measures contrast on no gradient.
  for (const box of document.querySelectorAll(".table")) box.style.backgroundImage = "none";
  const only = { runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] } };
  const found = await axe.run(document, { resultTypes: ["violations"], ...(colours && only) });
  return found.violations.map(({ id, nodes: [first] }) => `${id}: ${first.target} ${first.html}`);
}"""

FOCUSABLE = """() => [...document.querySelectorAll(
  "a[href], button, input, select, textarea, summary, [tabindex='0']"
)].filter((one) => one.checkVisibility() && !one.disabled && one.tabIndex >= 0)
  .map((one, index) => { one.dataset.stop = index; return one.outerHTML.slice(0, 90); })"""
"""What the keyboard must reach, each numbered."""

FOCUSED = """() => {
  const one = document.activeElement, style = getComputedStyle(one);
  const box = one.getBoundingClientRect();
  const seen = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  return [one.dataset.stop ?? "", seen, box.right > 0 && box.bottom > 0 && box.top < innerHeight];
}"""
"""The number of what has the focus, whether it is outlined, and whether it is in sight."""


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The script of axe-core."""
    folder = tmp_path_factory.mktemp("axe")
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, folder)
    try:
        install_node(folder / "with-node").install(folder)
    except NotInstalledError as error:
        pytest.skip(f"axe-core could not be installed: {error}")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text()


class Complaints(list[str]):
    """What a tab says and asks for that it should not."""

    def __init__(self, tab: Tab, site: str) -> None:
        super().__init__()
        tab.on("console", lambda message: self.append(f"console: {message.text}"))
        tab.on("pageerror", lambda error: self.append(f"error: {error}"))
        tab.on("request", lambda request: self._check(request.url, site))

    def _check(self, address: str, site: str) -> None:
        if not address.startswith((f"{site}/", "data:")):
            self.append(f"request: {address}")


def test_every_page_can_be_read_at_every_width_in_both_themes(
    walk: Walk, chromium: BrowserContext, axe: str
) -> None:
    """Nothing overflows, overlaps, is cut or split, asks another site or breaks a rule of axe."""
    found = list[str]()
    for page in PAGES:
        enter(chromium, walk, page)
        tab = chromium.new_page()
        complaints = Complaints(tab, walk.services[page.who].url)
        tab.goto(walk.address(page))
        tab.evaluate(axe)
        for width in WIDTHS:
            tab.set_viewport_size({"width": width, "height": 844})
            for theme in THEMES:
                tab.emulate_media(color_scheme=theme, reduced_motion="reduce")
                seen: list[Any] = tab.evaluate(LOOKING) if theme == "light" else []
                dark = theme == "dark"  # of the rules, only those of colours can find more in it
                broken: list[Any] = tab.evaluate(RULES, dark) if width != WIDTHS[1] else []
                found += [f"{page.name} at {width}, {theme}: {each}" for each in seen + broken]
        expected = f"the server responded with a status of {page.status}"
        found += [f"{page.name}: {each}" for each in complaints if expected not in each]
        tab.close()

    assert not found, "\n".join(found)


def test_a_number_of_millions_is_whole_on_a_narrow_phone(
    walk: Walk, chromium: BrowserContext
) -> None:
    tab = chromium.new_page()
    tab.set_viewport_size({"width": 360, "height": 844})
    tab.goto(f"{walk.services['stranger'].url}/status")
    tab.evaluate(
        "document.querySelectorAll('.facts dd').forEach((one) => one.textContent = '47,155,984')"
    )

    assert tab.evaluate(LOOKING) == []


def test_the_keyboard_reaches_everything_in_sight_and_skips_the_navigation(
    walk: Walk, chromium: BrowserContext
) -> None:
    found = list[str]()
    for page in (page for page in PAGES if page.path != "/docs"):
        enter(chromium, walk, page)
        tab = chromium.new_page()
        tab.emulate_media(reduced_motion="reduce")
        tab.goto(walk.address(page))
        tab.evaluate("document.activeElement.blur()")
        wanted: list[str] = tab.evaluate(FOCUSABLE)
        reached = dict[str, tuple[bool, bool]]()
        # A chart that comes into sight on the way adds some of its own, which have no number.
        for _ in range(2 * len(wanted)):
            tab.keyboard.press("Tab")
            stop, outlined, in_sight = tab.evaluate(FOCUSED)
            reached[stop] = outlined, in_sight
            if all(str(stop) in reached for stop in range(len(wanted))):
                break
        found += [
            f"{page.name}: {html} {reached.get(str(stop), 'is not reached')}"
            for stop, html in enumerate(wanted)
            if reached.get(str(stop)) != (True, True)
        ]
        tab.locator("a").first.focus()  # it may be that a field had the focus from the start
        tab.keyboard.press("Enter")
        if tab.evaluate("document.activeElement.id") != "main":
            found.append(f"{page.name}: the link to the content does not lead there")
        tab.close()

    assert not found, "\n".join(found)


def test_what_a_press_opens_can_be_read_too(walk: Walk, chromium: BrowserContext, axe: str) -> None:
    """The form that imports a list with what it says afterwards, and a chart with its averages."""
    watchlist = next(page for page in PAGES if page.route == "/watchlist")
    enter(chromium, walk, watchlist)
    tab = chromium.new_page()
    complaints = Complaints(tab, walk.services[watchlist.who].url)
    found = list[str]()
    tab.goto(walk.address(watchlist))
    tab.get_by_text("Import a list").click()
    tab.get_by_label("Paste a list").fill("###A\nNASDAQ:AALP, NYSE:" + "X" * 60)
    tab.get_by_label("Or choose a file").set_input_files([])
    found += _faults(tab, axe)
    tab.get_by_role("button", name="Import").click()
    tab.get_by_text("Not known: NASDAQ:AALP (perhaps AAPL)").wait_for()
    found += _faults(tab, axe)
    tab.goto(f"{walk.services[watchlist.who].url}/symbols/MSFT")
    tab.locator(".interactive canvas").first.wait_for()
    for count in (20, 50, 200):
        tab.get_by_role("button", name=f"SMA {count}", exact=True).first.click()
    found += _faults(tab, axe)

    assert not found, "\n".join(found)
    assert complaints == []


def _faults(tab: Tab, axe: str) -> list[str]:
    tab.evaluate(axe)
    found = list[str]()
    for width in WIDTHS:
        tab.set_viewport_size({"width": width, "height": 844})
        for theme in THEMES:
            tab.emulate_media(color_scheme=theme, reduced_motion="reduce")
            found += [*tab.evaluate(LOOKING), *tab.evaluate(RULES, False)]
    return found

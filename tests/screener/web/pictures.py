"""Pictures of the pages, from the night of the bars that come with the program.

`--write` writes those of the documentation, docs/pictures/*.png, anew, and the chart of the README;
`make pictures` does that.
`--look FOLDER` writes every page at every width in both themes, for eyes to go over.
"""

from __future__ import annotations

import argparse
import io
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal, NamedTuple

from PIL import Image

from mcp_server.drawing.view import USUAL
from screener.data.chart import draw_setup
from tests.chromium import fresh_profile
from tests.conftest import seal_sample
from tests.contract.market import active_book
from tests.screener.web.pages import PAGES, Page, Walk, walk_over

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext

Theme = Literal["light", "dark"]

PICTURES = Path(__file__).parents[3] / "docs" / "pictures"
WIDTHS = (390, 820, 1440)
THEMES: tuple[Theme, ...] = ("light", "dark")
COLOURS = 128
"""Colours of a picture's palette: pages are flat, and a chart has no more."""


class Picture(NamedTuple):
    """One picture of the documentation."""

    name: str
    page: Page
    width: int = 1200
    height: int = 800
    theme: Theme = "light"


DRAWN = (
    Picture("home", Page("/", "stranger", night=True)),
    Picture("home-phone", Page("/", "stranger", night=True), 390, 844, "dark"),
    Picture("screen", Page("/screen", "open", "/screen?status=all", night=True)),
    Picture("symbol", Page("/symbols/{symbol}", "open", "/symbols/AAPL", night=True)),
    Picture("family", Page("/families/{family}", "stranger", "/families/triangle", night=True)),
)
"""Every picture of the documentation; a new one is a row."""


def shoot(profile: BrowserContext, walk: Walk, picture: Picture, *, whole: bool = False) -> bytes:
    """A page as a PNG with a palette: what is on the screen, or the whole page."""
    enter(profile, walk, picture.page)
    page = profile.new_page()
    page.set_viewport_size({"width": picture.width, "height": picture.height})
    page.emulate_media(color_scheme=picture.theme, reduced_motion="reduce")
    # Pictures further down are loaded late, and only pages of a night have any.
    quiet: Literal["networkidle", "load"] = "networkidle" if picture.page.night else "load"
    page.goto(walk.address(picture.page), wait_until=quiet)
    shot = page.screenshot(full_page=whole)
    page.close()
    return small(shot)


def enter(profile: BrowserContext, walk: Walk, page: Page) -> None:
    """Be the visitor of a page."""
    profile.clear_cookies()
    jar = walk.browsers[page.who].cookies.jar
    url = walk.services[page.who].url
    profile.add_cookies([{"name": one.name, "value": one.value or "", "url": url} for one in jar])


def small(png: bytes) -> bytes:
    """The same picture with few colours."""
    image = Image.open(io.BytesIO(png)).convert("RGB")
    body = io.BytesIO()
    few = image.quantize(COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    few.save(body, "PNG", optimize=True)
    return body.getvalue()


def chart_of_the_sample(night: Path) -> bytes:
    """The chart that the README shows: the forming wedge of the sample night."""
    with closing(active_book(night)) as book:
        return draw_setup(book, "AAPL", None, USUAL)[0]


def write(profile: BrowserContext, walk: Walk, night: Path) -> None:
    """Write the pictures of the documentation."""
    PICTURES.mkdir(exist_ok=True)
    (PICTURES / "chart.png").write_bytes(chart_of_the_sample(night))
    for picture in DRAWN:
        file = PICTURES / f"{picture.name}.png"
        file.write_bytes(shoot(profile, walk, picture))
        print(f"{file} {file.stat().st_size // 1000} kB")


def look(profile: BrowserContext, walk: Walk, folder: Path, only: str) -> None:
    """Write every page at every width, the themes side by side."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in (page for page in PAGES if not only or page.path in only.split(",")):
        stem = page.name.replace("/", "-").replace(" ", "")
        for width in WIDTHS:
            pair = [Picture(stem, page, width, 844, theme) for theme in THEMES]
            sheet = beside([shoot(profile, walk, picture, whole=True) for picture in pair])
            sheet.save(folder / f"{stem}-{width}.png")


def beside(pictures: list[bytes]) -> Image.Image:
    """One sheet of pictures side by side."""
    images = [Image.open(io.BytesIO(one)).convert("RGB") for one in pictures]
    size = sum(one.width for one in images), max(one.height for one in images)
    sheet, x = Image.new("RGB", size), 0
    for image in images:
        sheet.paste(image, (x, 0))
        x += image.width
    return sheet


def main() -> None:
    """Write the pictures that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write docs/pictures")
    parser.add_argument("--look", type=Path, metavar="FOLDER", help="write sheets of all pages")
    parser.add_argument("--only", default="", help="the paths of --look, with commas")
    parser.add_argument("--night", type=Path, help="a data folder with a night, to save time")
    chosen = parser.parse_args()
    with TemporaryDirectory() as made:
        night = chosen.night or Path(made) / "night"
        if chosen.night is None:
            seal_sample(night)
        with walk_over(night, Path(made) / "walk") as walk, fresh_profile() as profile:
            if chosen.write:
                write(profile, walk, night)
            if chosen.look:
                look(profile, walk, chosen.look, chosen.only)


if __name__ == "__main__":
    main()

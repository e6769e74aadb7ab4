"""The pictures of the README and of docs: there, small, and of the program as it is."""

from __future__ import annotations

import io
import re
from pathlib import Path

from PIL import Image, ImageChops

from tests.screener.web.pictures import DRAWN, PICTURES, chart_of_the_sample

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)")


def test_each_picture_of_a_document_is_there_and_has_words_for_who_cannot_see_it() -> None:
    found = [(page, *link) for page in PAGES for link in LINK.findall(page.read_text("utf-8"))]

    assert len(found) >= len(DRAWN) - 1
    for page, words, address in found:
        assert (page.parent / address).is_file(), address
        assert len(words) > 15, address


def test_the_pictures_are_those_that_are_drawn_and_small() -> None:
    names = {f"{picture.name}.png" for picture in DRAWN} | {"chart.png"}

    assert {file.name for file in PICTURES.iterdir()} == names
    assert all(file.stat().st_size < 120_000 for file in PICTURES.iterdir())


def test_the_chart_of_the_readme_is_drawn_as_charts_are_now(product_night: Path) -> None:
    """`make pictures` draws it anew."""
    kept = Image.open(PICTURES / "chart.png").convert("RGB")
    drawn = Image.open(io.BytesIO(chart_of_the_sample(product_night))).convert("RGB")

    assert kept.size == drawn.size
    assert ImageChops.difference(kept, drawn).getbbox() is None

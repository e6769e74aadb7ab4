"""The colours of charts: readable in both themes, and told apart by those who see no red or green.

The simulations are those of Machado, Oliveira and Fernandes (2009) at full severity; the distance
is that of CIELAB, where about 2 can just be seen.
"""

from __future__ import annotations

import io
import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from mcp_server.drawing import draw
from mcp_server.drawing.canvas import Ink, palette
from mcp_server.drawing.view import THEMES, ChartStyle, Theme
from tests.mcp_server.views import XYZ, Floats, contrast, linear, view

SIGHTS = {
    "full": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}
WHITE = XYZ.sum(axis=1)

TEXTS = (*(Ink.TITLE, Ink.MUTED), *list(Ink)[Ink.LINE :])
TINTS = (Ink.PAPER, Ink.BODY, Ink.REWARD, Ink.RISK)
APART = (
    (Ink.UP, Ink.DOWN),
    (Ink.TARGET, Ink.STOP),
    (Ink.TARGET, Ink.ENTRY),
    (Ink.STOP, Ink.ENTRY),
    (Ink.TARGET, Ink.TRIGGER),
    (Ink.STOP, Ink.TRIGGER),
    (Ink.LINE, Ink.UP),
    (Ink.LINE, Ink.DOWN),
)


def lab(light: Floats) -> Floats:
    scaled = XYZ @ np.clip(light, 0, 1) / WHITE
    x, y, z = np.where(scaled > 0.008856, np.cbrt(scaled), 7.787 * scaled + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("ink", TEXTS)
def test_every_ink_of_words_and_pills_has_the_contrast_of_wcag_aa(ink: Ink, theme: Theme) -> None:
    assert contrast(ink.rgb(theme), Ink.PAPER.rgb(theme)) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("ink", [Ink.UP, Ink.DOWN, Ink.LINE])
def test_candles_and_lines_have_the_contrast_of_graphics_on_every_tint(
    ink: Ink, theme: Theme
) -> None:
    for tint in TINTS:
        assert contrast(ink.rgb(theme), tint.rgb(theme)) >= 3, tint


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("pair", APART)
def test_what_is_told_apart_by_ink_can_be_told_apart_by_every_reader(
    pair: tuple[Ink, Ink], sight: str, theme: Theme
) -> None:
    one, other = (lab(SIGHTS[sight] @ linear(ink.rgb(theme))) for ink in pair)
    assert float(np.linalg.norm(one - other)) >= 20


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", ["screener/web/static/symbol.css", "mcp_server/mcp/app/page.css"])
def test_averages_of_interactive_charts_can_be_read_and_told_apart(name: str, theme: Theme) -> None:
    style = (Path(__file__).parents[2] / name).read_text()
    colours = re.findall(r"--sma-\d+: #(\w{6});", style)
    assert len(colours) == 6  # light, then dark
    half = colours[:3] if theme == "light" else colours[3:]
    averages = [tuple(bytes.fromhex(colour)) for colour in half]
    for average in averages:
        assert contrast(average, Ink.PAPER.rgb(theme)) >= 4.5
    for sight in SIGHTS.values():
        seen = [lab(sight @ linear(colour)) for colour in (*averages, Ink.LINE.rgb(theme))]
        for one, other in itertools.combinations(seen, 2):
            assert float(np.linalg.norm(one - other)) >= 20


@pytest.mark.parametrize("theme", THEMES)
def test_the_palette_is_the_fixed_one_of_its_theme(theme: Theme) -> None:
    image = Image.open(io.BytesIO(draw(view(), ChartStyle(theme))))
    stored = np.array(image.getpalette()).reshape(-1, 3)
    colours = palette(theme)
    assert np.array_equal(stored[: len(colours)], colours)
    assert len(colours) <= 256
    assert not np.array_equal(palette("light"), palette("dark"))

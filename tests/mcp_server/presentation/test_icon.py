"""The icon in pixels has the shape of the SVG."""

from __future__ import annotations

import io
import math
import re
from typing import Any

import pytest
from PIL import Image

from mcp_server.presentation.identity import icon


@pytest.mark.parametrize("pixels", [48, 96, 192])
def test_the_picture_has_the_lines_and_the_ground_of_the_svg(pixels: int) -> None:
    svg = icon("icon.svg").decode()
    image = Image.open(io.BytesIO(icon(f"icon-{pixels}.png")))
    lines = re.findall(r"M(\d+) (\d+)L(\d+) (\d+)", svg)

    def colour(x: float, y: float) -> str:
        found: Any = image.getpixel((int(x * pixels / 32), int(y * pixels / 32)))
        names = {
            "line": (255, 255, 255, 255),
            "ground": (29, 78, 216, 255),
            "none": (29, 78, 216, 0),
        }
        near = [name for name, other in names.items() if math.dist(found, other) < 16]
        return near[0] if near else str(found)

    assert image.size == (pixels, pixels)
    assert len(lines) == 2
    for x0, y0, x1, y1 in (map(int, line) for line in lines):
        assert colour(x0, y0) == colour((x0 + x1) / 2, (y0 + y1) / 2) == "line"
    assert colour(16, 4) == colour(3, 16) == "ground"
    assert colour(0, 0) == colour(31.9, 31.9) == "none"
    assert '<rect width="32" height="32" rx="7" fill="#1d4ed8"/>' in svg

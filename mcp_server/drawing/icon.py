"""The icon: two lines that converge, as SVG and in pixels."""

from __future__ import annotations

import io

from PIL import Image, ImageDraw

SIDE, RADIUS, WIDTH = 32, 7, 3
"""The square, the radius of its corners, and the width of the lines."""
LINES = (((6, 8), (26, 14)), ((6, 25), (26, 18)))
GROUND, INK = "#1d4ed8", "#ffffff"

FINER = 4
"""Drawn this many times as large, then made smaller, so that edges are smooth."""


def icon_svg() -> bytes:
    """The icon as an SVG document."""
    path = "".join(f"M{x0} {y0}L{x1} {y1}" for (x0, y0), (x1, y1) in LINES)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {SIDE} {SIDE}">'
        f'<rect width="{SIDE}" height="{SIDE}" rx="{RADIUS}" fill="{GROUND}"/>'
        f'<path d="{path}" stroke="{INK}" stroke-width="{WIDTH}" stroke-linecap="round"/></svg>\n'
    ).encode()


def icon_png(pixels: int) -> bytes:
    """The icon as a square PNG with transparent corners."""
    scale = pixels * FINER / SIDE
    image = Image.new("RGBA", (pixels * FINER, pixels * FINER))
    pen = ImageDraw.Draw(image)
    edge = pixels * FINER - 1
    pen.rounded_rectangle((0, 0, edge, edge), RADIUS * scale, fill=GROUND)
    half = WIDTH * scale / 2
    for line in LINES:
        ends = [(x * scale, y * scale) for x, y in line]
        pen.line(ends, fill=INK, width=round(2 * half))
        for x, y in ends:
            pen.ellipse((x - half, y - half, x + half, y + half), fill=INK)
    small = image.resize((pixels, pixels), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    small.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()

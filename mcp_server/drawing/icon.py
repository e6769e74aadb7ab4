"""The icon: two lines that converge, as SVG and in pixels.

The pixels are made here and not by Pillow, which the process that draws charts alone loads.
"""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt

SIDE, RADIUS, WIDTH = 32, 7, 3
"""The square, the radius of its corners, and the width of the lines."""
LINES = (((6, 8), (26, 14)), ((6, 25), (26, 18)))
GROUND, INK = "#1d4ed8", "#ffffff"


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
    unit = SIDE / pixels
    x = (np.arange(pixels) + 0.5) * unit
    y, inner = x[:, np.newaxis], SIDE / 2 - RADIUS
    beyond = (np.maximum(abs(one - SIDE / 2) - inner, 0) for one in (x, y))
    ground = _covered((np.hypot(*beyond) - RADIUS) / unit)
    ink = np.zeros_like(ground)
    for (x0, y0), (x1, y1) in LINES:
        right, down = x1 - x0, y1 - y0
        along = ((x - x0) * right + (y - y0) * down) / (right**2 + down**2)
        nearest = np.clip(along, 0, 1)
        off = np.hypot(x - x0 - nearest * right, y - y0 - nearest * down)
        ink = np.maximum(ink, _covered((off - WIDTH / 2) / unit))
    shown, drawn = (np.frombuffer(bytes.fromhex(colour[1:]), np.uint8) for colour in (GROUND, INK))
    colours = shown + ink[..., np.newaxis] * (drawn.astype(float) - shown)
    return _png(np.dstack((colours, ground * 255)).round().astype(np.uint8))


def _covered(distance: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """How much of each pixel is within an edge, by the distance of its centre in pixels."""
    return np.clip(0.5 - distance, 0, 1)


def _png(image: npt.NDArray[np.uint8]) -> bytes:
    """Red, green, blue and opacity of each pixel (height, width, 4) as a PNG."""
    height, width, _ = image.shape
    rows = b"".join(b"\0" + row.tobytes() for row in image)  # 0: a row as it is
    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)  # 8 bits, with opacity
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )

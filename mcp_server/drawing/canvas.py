"""Canvas: a picture of palette indices, and the few shapes that a chart is made of.

Vertical and horizontal shapes cover whole pixels. Slanted and round shapes are anti-aliased by the
exact distance to the shape, which is smoother than a supersampled mask and needs no second picture.
Coordinates are pixels, y downward; boxes are (left, top, right, bottom), the last two exclusive.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from PIL import Image

from mcp_server.drawing import lettering
from mcp_server.drawing.look import Theme
from mcp_server.drawing.palette import STEPS, Ink, blending, colours

Box: TypeAlias = tuple[int, int, int, int]
Floats: TypeAlias = npt.NDArray[np.float64]
Pixels: TypeAlias = npt.NDArray[np.uint8]

DASH, DASH_PERIOD = 6, 10
"""Pixels of a dash on a horizontal line, and from one dash to the next."""

DOT_PERIOD = 6.0
"""Pixels along a dotted line from one dot to the next; half of them are inked."""


TEXT_GAMMA = 0.8
"""Exponent of a letter's coverage; without it, thin strokes would look paler than their ink."""


class Canvas:
    """An empty picture that shapes are drawn on, later ones over earlier ones."""

    def __init__(self, width: int, height: int, theme: Theme = "light") -> None:
        self._theme: Theme = theme
        self.pixels: Pixels = np.full((height, width), Ink.PAPER, dtype=np.uint8)

    def fill(self, box: Box, ink: Ink) -> None:
        """Fill a box with an ink."""
        left, top, right, bottom = box
        self.pixels[max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)] = ink

    def dashes(self, rows: slice, left: int, right: int, inks: Sequence[Ink]) -> None:
        """A horizontal dashed line over some rows; its dashes take the inks in turn."""
        for turn, ink in enumerate(inks):
            for start in range(left + turn * DASH_PERIOD, right, len(inks) * DASH_PERIOD):
                self.pixels[rows, start : min(start + DASH, right)] = ink

    def dots(self, column: int, top: int, bottom: int, ink: Ink) -> None:
        """A vertical dotted line one pixel wide."""
        self.pixels[top:bottom:3, column] = ink

    def arrow(self, middle: int, tip: int, down: bool, half: int, ink: Ink) -> None:
        """A full arrow head with its tip in a row, twice as wide as half, and as high as half."""
        for step in range(half):
            row = tip - step if down else tip + step
            self.fill((middle - step, row, middle + step + 1, row + 1), ink)

    def between(self, columns: npt.NDArray[np.intp], high: Floats, low: Floats, ink: Ink) -> None:
        """Fill whole pixels of each column between two pixel coordinates."""
        top, bottom = math.floor(high.min()), math.ceil(low.max())
        rows = np.arange(top, bottom)[:, None]
        left, right = int(columns[0]), int(columns[-1]) + 1
        self.pixels[top:bottom, left:right][(rows >= high) & (rows < low)] = ink

    def text(
        self, left: int, baseline: int, text: str, size: int, ink: Ink, weight: lettering.Weight
    ) -> None:
        """A line of text; `left` is the pen's start."""
        cover, row = lettering.mask(text, size, weight)
        self._cover(left - 1, baseline - row, (cover / 255.0) ** TEXT_GAMMA, ink)

    def pill(self, box: Box, ink: Ink, radius: float = 4.0) -> None:
        """A box with rounded corners."""
        left, top, right, bottom = box
        across = np.abs(np.arange(right - left) + 0.5 - (right - left) / 2)
        down = np.abs(np.arange(bottom - top) + 0.5 - (bottom - top) / 2)
        dx = np.maximum(across - (right - left) / 2 + radius, 0)
        dy = np.maximum(down - (bottom - top) / 2 + radius, 0)
        self._cover(left, top, radius + 0.5 - np.hypot(dx, dy[:, None]), ink)

    def disc(self, x: float, y: float, radius: float, ink: Ink) -> None:
        """A filled circle."""
        reach = math.ceil(radius) + 1
        left, top = math.floor(x) - reach, math.floor(y) - reach
        span = np.arange(2 * reach + 1) + 0.5
        distance = np.hypot(span + left - x, (span + top - y)[:, None])
        self._cover(left, top, radius + 0.5 - distance, ink)

    def stroke(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        clip: Box,
        ink: Ink,
        thickness: float = 2.0,
        dotted: bool = False,
    ) -> None:
        """A straight line between two (x, y) points, cut to the clip box."""
        left, top, right, bottom = clip
        (x0, y0), (x1, y1) = start, end
        surface, bounds = self.pixels[top:bottom, left:right], (right - left, bottom - top)
        x0, x1, y0, y1 = x0 - left, x1 - left, y0 - top, y1 - top
        if abs(y1 - y0) > abs(x1 - x0):
            surface, bounds = surface.T, (bounds[1], bounds[0])
            x0, x1, y0, y1 = y0, y1, x0, x1
        if x1 < x0:
            x0, x1, y0, y1 = x1, x0, y1, y0
        if x1 > x0:
            table = blending(ink, self._theme)
            _stroke(surface, bounds, (x0, y0), (x1, y1), table, thickness, dotted)

    def png(self) -> bytes:
        """The picture as a PNG in palette mode."""
        image = Image.fromarray(self.pixels)
        image.putpalette(colours(self._theme).tobytes())
        body = io.BytesIO()
        image.save(body, "PNG", compress_level=5)
        return body.getvalue()

    def _cover(self, left: int, top: int, cover: Floats, ink: Ink) -> None:
        self._blend(left, top, _steps(cover), ink)

    def _blend(self, left: int, top: int, steps: Pixels, ink: Ink) -> None:
        cut_x, cut_y = max(0, -left), max(0, -top)
        region = self.pixels[
            top + cut_y : max(0, top + steps.shape[0]), left + cut_x : max(0, left + steps.shape[1])
        ]
        steps = steps[cut_y : cut_y + region.shape[0], cut_x : cut_x + region.shape[1]]
        region[...] = blending(ink, self._theme)[steps, region]


def _steps(cover: Floats) -> Pixels:
    return np.rint(np.clip(cover, 0, 1) * STEPS).astype(np.uint8)


def _stroke(
    surface: Pixels,
    bounds: tuple[int, int],
    start: tuple[float, float],
    end: tuple[float, float],
    table: Pixels,
    thickness: float,
    dotted: bool,
) -> None:
    """Ink a line on a surface by a blending table; the line moves by at most one row a column."""
    slope = (end[1] - start[1]) / (end[0] - start[0])
    stretch = math.hypot(1, slope)
    first, last = max(0, math.floor(start[0])), min(bounds[0], math.ceil(end[0]))
    columns = np.arange(first, last)
    middle = start[1] + slope * (columns + 0.5 - start[0])
    reach = math.ceil(thickness / 2 * stretch + 1)
    rows = np.floor(middle).astype(np.intp)[:, None] + np.arange(-reach, reach + 1)
    cover = thickness / 2 + 0.5 - np.abs(rows + 0.5 - middle[:, None]) / stretch
    if dotted:
        along = (columns + 0.5 - start[0]) * stretch
        cover[along % DOT_PERIOD >= DOT_PERIOD / 2] = 0
    inside = (rows >= 0) & (rows < bounds[1]) & (cover > 0)
    at = rows[inside], np.broadcast_to(columns[:, None], rows.shape)[inside]
    surface[at] = table[_steps(cover[inside]), surface[at]]

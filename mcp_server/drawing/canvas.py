"""Canvas: a picture of palette indices, and the few shapes that a chart is made of.

Vertical and horizontal shapes cover whole pixels. Slanted and round shapes are anti-aliased by the
exact distance to the shape, which is smoother than a supersampled mask and needs no second picture.
Coordinates are pixels, y downward; boxes are (left, top, right, bottom), the last two exclusive.

A chart is drawn in palette indices from the start. Anti-aliasing mixes an ink with the colour below
it in sixteen steps. The palette holds those mixes for the pairs that occur, so a finished chart
need not be quantised. Inks that tell something apart do so for readers who do not see red or green:
rising candles are hollow and blue-green, falling ones are full and orange.
"""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from PIL import Image

from mcp_server.drawing.view import ChartStyle, Theme

Box: TypeAlias = tuple[int, int, int, int]
Place: TypeAlias = tuple[float, float]
"""A pixel coordinate (x, y)."""
Floats: TypeAlias = npt.NDArray[np.float64]
Pixels: TypeAlias = npt.NDArray[np.uint8]

STEPS = 15
"""The step of a blend that covers fully; step 0 covers nothing."""

DASH, DASH_PERIOD = 6, 10
"""Pixels of a dash on a horizontal line, and from one dash to the next."""

DOT_PERIOD = 6.0
"""Pixels along a dotted line from one dot to the next; half of them are inked."""


class Ink(IntEnum):
    """The named colours, by their index in the palette, with what they are in each theme."""

    light: str
    dark: str

    def __new__(cls, light: str, dark: str) -> Ink:
        """The next ink."""
        ink = int.__new__(cls, len(cls.__members__))
        ink._value_, ink.light, ink.dark = int(ink), light, dark
        return ink

    PAPER = "#ffffff", "#10151f"
    GRID = "#eceff3", "#1d2431"
    AXIS = "#c3c9d2", "#465063"
    BODY = "#e8f0fe", "#172544"
    REWARD = "#e3f4f3", "#10292e"
    RISK = "#fdeee8", "#2f1d1c"
    UP = "#0d827d", "#35b8ac"
    DOWN = "#c8401f", "#f0764f"
    VOLUME_UP = "#a9d3d1", "#1d5a59"
    VOLUME_DOWN = "#ecb9a9", "#75402f"
    TITLE = "#101828", "#f1f4f9"
    MUTED = "#566072", "#9aa6b8"
    LINE = "#1f5be0", "#6ea0ff"
    TRIGGER = "#1b49b8", "#8fb5ff"
    TARGET = "#00696b", "#2fb9ae"
    STOP = "#b5300c", "#fb8562"
    ENTRY = "#2a1a4a", "#f1f4f9"
    LAST = "#566072", "#9aa6b8"
    FOLD = "#566072", "#9aa6b8"

    def colour(self, theme: Theme) -> str:
        """What it is in a theme: `#rrggbb`."""
        return self.dark if theme == "dark" else self.light

    def rgb(self, theme: Theme) -> tuple[int, int, int]:
        """Its red, green and blue in a theme, 0-255."""
        red, green, blue = bytes.fromhex(self.colour(theme)[1:])
        return red, green, blue


_ON_PAPER = (
    Ink.TITLE, Ink.MUTED, Ink.LINE, Ink.TRIGGER, Ink.TARGET, Ink.STOP, Ink.ENTRY,
)  # fmt: skip
_PAIRS = (
    *((ink, Ink.PAPER) for ink in _ON_PAPER),
    *((Ink.LINE, under) for under in (Ink.BODY, Ink.UP, Ink.DOWN)),
    *((Ink.PAPER, candle) for candle in (Ink.UP, Ink.DOWN)),
    *((Ink.MUTED, candle) for candle in (Ink.UP, Ink.DOWN)),
    (Ink.MUTED, Ink.BODY),
)


@lru_cache(maxsize=2)
def palette(theme: Theme) -> Pixels:
    """One row of red, green and blue for each colour: the inks, then their mixes."""
    base = np.array([ink.rgb(theme) for ink in Ink], dtype=np.float64)
    share = (np.arange(1, STEPS) / STEPS)[:, None]
    mixes = [base[over] * share + base[under] * (1 - share) for over, under in _PAIRS]
    rows: Floats = np.concatenate([base, *mixes])
    return np.rint(rows).astype(np.uint8)


@lru_cache(maxsize=2 * len(Ink))
def _blending(ink: Ink, theme: Theme) -> Pixels:
    """The table `[step, index below]` -> index of the nearest palette colour."""
    known = palette(theme).astype(np.int64)
    share = np.arange(STEPS + 1)[:, None, None]
    mixed = (known[ink] * share + known[None] * (STEPS - share) + STEPS // 2) // STEPS
    # The squared distance to each colour, without the term that is the same for all of them.
    distance = (known**2).sum(axis=1) - 2 * (mixed @ known.T)
    table: Pixels = distance.argmin(axis=2).astype(np.uint8)
    table[0] = np.arange(len(known))
    table[STEPS] = ink
    return table


class Canvas:
    """An empty picture that shapes are drawn on, later ones over earlier ones."""

    def __init__(self, look: ChartStyle) -> None:
        self._theme: Theme = look.theme
        self.pixels: Pixels = np.full((look.height, look.width), Ink.PAPER, dtype=np.uint8)

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

    def pill(self, box: Box, ink: Ink, radius: float = 4.0) -> None:
        """A box with rounded corners."""
        left, top, right, bottom = box
        across = np.abs(np.arange(right - left) + 0.5 - (right - left) / 2)
        down = np.abs(np.arange(bottom - top) + 0.5 - (bottom - top) / 2)
        dx = np.maximum(across - (right - left) / 2 + radius, 0)
        dy = np.maximum(down - (bottom - top) / 2 + radius, 0)
        self.blend(left, top, steps(radius + 0.5 - np.hypot(dx, dy[:, None])), ink)

    def disc(self, x: float, y: float, radius: float, ink: Ink) -> None:
        """A filled circle."""
        reach = math.ceil(radius) + 1
        left, top = math.floor(x) - reach, math.floor(y) - reach
        span = np.arange(2 * reach + 1) + 0.5
        distance = np.hypot(span + left - x, (span + top - y)[:, None])
        self.blend(left, top, steps(radius + 0.5 - distance), ink)

    def stroke(
        self,
        start: Place,
        end: Place,
        clip: Box,
        ink: Ink,
        thickness: float,
        dotted: bool = False,
    ) -> None:
        """A straight line between two places, cut to the clip box."""
        left, top, right, bottom = clip
        surface = self.pixels[top:bottom, left:right]
        ends = [(x - left, y - top) for x, y in (start, end)]
        (x0, y0), (x1, y1) = ends
        if abs(y1 - y0) > abs(x1 - x0):
            surface, ends = surface.T, [(y, x) for x, y in ends]
        first, last = sorted(ends)
        if first[0] < last[0]:
            _ink_line(surface, first, last, _blending(ink, self._theme), thickness, dotted)

    def blend(self, left: int, top: int, cover: Pixels, ink: Ink) -> None:
        """Mix an ink into what is there, as far as each pixel is covered (0 to `STEPS`)."""
        cut_x, cut_y = max(0, -left), max(0, -top)
        region = self.pixels[
            top + cut_y : max(0, top + cover.shape[0]), left + cut_x : max(0, left + cover.shape[1])
        ]
        cover = cover[cut_y : cut_y + region.shape[0], cut_x : cut_x + region.shape[1]]
        region[...] = _blending(ink, self._theme)[cover, region]

    def png(self) -> bytes:
        """The picture as a PNG in palette mode."""
        image = Image.fromarray(self.pixels)
        image.putpalette(palette(self._theme).tobytes())
        body = io.BytesIO()
        image.save(body, "PNG", compress_level=5)
        return body.getvalue()


def steps(cover: Floats) -> Pixels:
    """How far each pixel is covered, by its covered share; what is beyond 0 and 1 is cut."""
    return np.rint(np.clip(cover, 0, 1) * STEPS).astype(np.uint8)


def _ink_line(
    surface: Pixels, start: Place, end: Place, table: Pixels, thickness: float, dotted: bool
) -> None:
    """Ink a line on a surface by a blending table; the line moves by at most one row a column."""
    height, width = surface.shape
    slope = (end[1] - start[1]) / (end[0] - start[0])
    stretch = math.hypot(1, slope)
    columns = np.arange(max(0, math.floor(start[0])), min(width, math.ceil(end[0])))
    middle = start[1] + slope * (columns + 0.5 - start[0])
    reach = math.ceil(thickness / 2 * stretch + 1)
    rows = np.floor(middle).astype(np.intp)[:, None] + np.arange(-reach, reach + 1)
    cover = thickness / 2 + 0.5 - np.abs(rows + 0.5 - middle[:, None]) / stretch
    if dotted:
        along = (columns + 0.5 - start[0]) * stretch
        cover[along % DOT_PERIOD >= DOT_PERIOD / 2] = 0
    inside = (rows >= 0) & (rows < height) & (cover > 0)
    at = rows[inside], np.broadcast_to(columns[:, None], rows.shape)[inside]
    surface[at] = table[steps(cover[inside]), surface[at]]

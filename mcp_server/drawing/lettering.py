"""Lettering: the bundled font; the width of a text, how much of it fits, and its coverage mask."""

from __future__ import annotations

from bisect import bisect_right
from functools import lru_cache
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

Weight: TypeAlias = Literal["Regular", "SemiBold"]

FONTS = Path(__file__).parent.parent / "fonts"

FINE = 4
"""Letters are drawn this many times larger and averaged; whole pixels would space them unevenly."""

PUNCTUATION = frozenset(
    "\u2010\u2011\u2012\u2013\u2014\u2018\u2019\u201c\u201d\u2022\u2026\u20ac\u20bf\u2122"
    "\u2190\u2191\u2192\u2193\u2212\u2248\u25b2\u25bc\u25cf"
)
"""The characters that the bundled subset of the font has besides Latin letters."""

LONGEST = 600
"""Characters of a text that are measured. More never fit, and measuring them takes time."""


@lru_cache(maxsize=16)
def _font(size: int, weight: Weight) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(FONTS / f"Inter-{weight}.ttf"), size * FINE)


def clean(text: str) -> str:
    """The text on one line; characters that the font lacks become question marks."""
    words = "".join(char if char.isprintable() else " " for char in text[:LONGEST]).split()
    return "".join(char if _has(char) else "?" for char in " ".join(words))


def _has(char: str) -> bool:
    return " " <= char < "\u0180" or char in PUNCTUATION


@lru_cache(maxsize=2048)
def width(text: str, size: int, weight: Weight = "Regular") -> int:
    """The advance width of a text in whole pixels."""
    return round(_font(size, weight).getlength(text) / FINE)


def fit(text: str, room: int, size: int, weight: Weight = "Regular") -> str:
    """The text, or as much of its beginning as fits into `room` pixels with an ellipsis."""
    if width(text, size, weight) <= room:
        return text
    ends = range(1, len(text) + 1)
    kept = bisect_right(ends, room, key=lambda end: width(text[:end] + "…", size, weight))
    return text[:kept].rstrip() + "…"


def wrap(text: str, room: int, lines: int, size: int) -> list[str]:
    """The text in at most `lines` lines of `room` pixels; the last line is cut if necessary."""
    wrapped: list[str] = []
    words = text.split(" ")
    while words and len(wrapped) < lines - 1:
        count = 1
        while count < len(words) and width(" ".join(words[: count + 1]), size) <= room:
            count += 1
        wrapped.append(fit(" ".join(words[:count]), room, size))
        words = words[count:]
    wrapped.append(fit(" ".join(words), room, size))
    return [line for line in wrapped if line]


@lru_cache(maxsize=256)
def mask(text: str, size: int, weight: Weight) -> tuple[npt.NDArray[np.uint8], int]:
    """The coverage (0-255) of a text and the row of its baseline; it starts at column 1."""
    baseline = round(size * 1.15)
    extent = (width(text, size, weight) + 4, baseline + round(size * 0.45))
    fine = Image.new("L", (extent[0] * FINE, extent[1] * FINE))
    pen = (FINE, baseline * FINE)
    ImageDraw.Draw(fine).text(pen, text, 255, _font(size, weight), anchor="ls")
    return np.asarray(fine.reduce(FINE)), baseline

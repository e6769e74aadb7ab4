"""Palette: the fixed colours of every chart in two themes, and blending as a table look-up.

A chart is drawn in palette indices from the start. Anti-aliasing mixes an ink with the colour below
it in sixteen steps. The palette holds those mixes for the pairs that occur, so a finished chart
need not be quantised. Inks that tell something apart do so for readers who do not see red or green:
rising candles are hollow and blue-green, falling ones are full and orange.
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from mcp_server.drawing.look import Theme

STEPS = 15
"""The step of a blend that covers fully; step 0 covers nothing."""


class Ink(IntEnum):
    """The named colours, by their index in the palette."""

    PAPER = 0
    GRID = 1
    AXIS = 2
    BODY = 3
    REWARD = 4
    RISK = 5
    UP = 6
    DOWN = 7
    VOLUME_UP = 8
    VOLUME_DOWN = 9
    TITLE = 10
    MUTED = 11
    LINE = 12
    TRIGGER = 13
    TARGET = 14
    STOP = 15
    ENTRY = 16
    LAST = 17
    FOLD = 18


COLOURS: dict[Theme, dict[Ink, str]] = {
    "light": {
        Ink.PAPER: "#ffffff",
        Ink.GRID: "#eceff3",
        Ink.AXIS: "#c3c9d2",
        Ink.BODY: "#e8f0fe",
        Ink.REWARD: "#e3f4f3",
        Ink.RISK: "#fdeee8",
        Ink.UP: "#0d827d",
        Ink.DOWN: "#c8401f",
        Ink.VOLUME_UP: "#a9d3d1",
        Ink.VOLUME_DOWN: "#ecb9a9",
        Ink.TITLE: "#101828",
        Ink.MUTED: "#566072",
        Ink.LINE: "#1f5be0",
        Ink.TRIGGER: "#1b49b8",
        Ink.TARGET: "#00696b",
        Ink.STOP: "#b5300c",
        Ink.ENTRY: "#2a1a4a",
        Ink.LAST: "#566072",
        Ink.FOLD: "#566072",
    },
    "dark": {
        Ink.PAPER: "#10151f",
        Ink.GRID: "#1d2431",
        Ink.AXIS: "#465063",
        Ink.BODY: "#172544",
        Ink.REWARD: "#10292e",
        Ink.RISK: "#2f1d1c",
        Ink.UP: "#35b8ac",
        Ink.DOWN: "#f0764f",
        Ink.VOLUME_UP: "#1d5a59",
        Ink.VOLUME_DOWN: "#75402f",
        Ink.TITLE: "#f1f4f9",
        Ink.MUTED: "#9aa6b8",
        Ink.LINE: "#6ea0ff",
        Ink.TRIGGER: "#8fb5ff",
        Ink.TARGET: "#2fb9ae",
        Ink.STOP: "#fb8562",
        Ink.ENTRY: "#f1f4f9",
        Ink.LAST: "#9aa6b8",
        Ink.FOLD: "#9aa6b8",
    },
}

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


def rgb(ink: Ink, theme: Theme = "light") -> tuple[int, int, int]:
    """The red, green and blue of an ink, 0-255."""
    red, green, blue = bytes.fromhex(COLOURS[theme][ink][1:])
    return red, green, blue


@lru_cache(maxsize=2)
def colours(theme: Theme = "light") -> npt.NDArray[np.uint8]:
    """The palette, one row of red, green and blue for each colour: the inks, then their mixes."""
    base = np.array([rgb(ink, theme) for ink in Ink], dtype=np.float64)
    share = (np.arange(1, STEPS) / STEPS)[:, None]
    mixes = [base[over] * share + base[under] * (1 - share) for over, under in _PAIRS]
    rows: npt.NDArray[np.float64] = np.concatenate([base, *mixes])
    return np.rint(rows).astype(np.uint8)


@lru_cache(maxsize=2 * len(Ink))
def blending(ink: Ink, theme: Theme) -> npt.NDArray[np.uint8]:
    """The table `[step, index below]` -> index of the nearest palette colour."""
    known = colours(theme).astype(np.int64)
    share = np.arange(STEPS + 1)[:, None, None]
    mixed = (known[ink] * share + known[None] * (STEPS - share) + STEPS // 2) // STEPS
    # The squared distance to each colour, without the term that is the same for all of them.
    distance = (known**2).sum(axis=1) - 2 * (mixed @ known.T)
    table: npt.NDArray[np.uint8] = distance.argmin(axis=2).astype(np.uint8)
    table[0] = np.arange(len(known))
    table[STEPS] = ink
    return table

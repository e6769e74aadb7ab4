"""Palette: the fixed colours of every chart, and blending as a table look-up among them.

A chart is drawn in palette indices from the start. Anti-aliasing mixes an ink with the colour below
it in sixteen steps. The palette holds those mixes for the pairs that occur, so a finished chart
need not be quantised.
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache

import numpy as np
import numpy.typing as npt

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
    TITLE = 8
    MUTED = 9
    LINE = 10
    TRIGGER = 11
    TARGET = 12
    STOP = 13
    ENTRY = 14
    LAST = 15


COLOURS: dict[Ink, str] = {
    Ink.PAPER: "#ffffff",
    Ink.GRID: "#e9ecf0",
    Ink.AXIS: "#c3c9d2",
    Ink.BODY: "#edf3fe",
    Ink.REWARD: "#e8f5ef",
    Ink.RISK: "#fcecea",
    Ink.UP: "#0c9a80",
    Ink.DOWN: "#d83a34",
    Ink.TITLE: "#101828",
    Ink.MUTED: "#566072",
    Ink.LINE: "#1f5be0",
    Ink.TRIGGER: "#a94a06",
    Ink.TARGET: "#04704f",
    Ink.STOP: "#b3171c",
    Ink.ENTRY: "#6527c9",
    Ink.LAST: "#3b4658",
}

_ON_PAPER = (
    Ink.TITLE, Ink.MUTED, Ink.LINE, Ink.TRIGGER, Ink.TARGET, Ink.STOP, Ink.ENTRY, Ink.LAST,
)  # fmt: skip
_PAIRS = (
    *((ink, Ink.PAPER) for ink in _ON_PAPER),
    (Ink.LINE, Ink.BODY),
    *((ink, candle) for ink in (Ink.LINE, Ink.PAPER) for candle in (Ink.UP, Ink.DOWN)),
)


def rgb(ink: Ink) -> tuple[int, int, int]:
    """The red, green and blue of an ink, 0-255."""
    red, green, blue = bytes.fromhex(COLOURS[ink][1:])
    return red, green, blue


@lru_cache(maxsize=1)
def colours() -> npt.NDArray[np.uint8]:
    """The palette, one row of red, green and blue for each colour: the inks, then their mixes."""
    base = np.array([rgb(ink) for ink in Ink], dtype=np.float64)
    share = (np.arange(1, STEPS) / STEPS)[:, None]
    mixes = [base[over] * share + base[under] * (1 - share) for over, under in _PAIRS]
    rows: npt.NDArray[np.float64] = np.concatenate([base, *mixes])
    return np.rint(rows).astype(np.uint8)


@lru_cache(maxsize=len(Ink))
def blending(ink: Ink) -> npt.NDArray[np.uint8]:
    """The table `[step, index below]` -> index of the nearest palette colour."""
    known = colours().astype(np.int64)
    share = np.arange(STEPS + 1)[:, None, None]
    mixed = (known[ink] * share + known[None] * (STEPS - share) + STEPS // 2) // STEPS
    # The squared distance to each colour, without the term that is the same for all of them.
    distance = (known**2).sum(axis=1) - 2 * (mixed @ known.T)
    table: npt.NDArray[np.uint8] = distance.argmin(axis=2).astype(np.uint8)
    table[0] = np.arange(len(known))
    table[STEPS] = ink
    return table

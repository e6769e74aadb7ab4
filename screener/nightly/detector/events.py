"""The event log: the versions and trades that one walk over one symbol's bars served.

It is two numpy record arrays with fixed dtypes, so it can be pickled, compared and hashed as bytes.
Bar indices count from the first bar of the series; line values are natural logs of price.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt


class PatternType(IntEnum):
    """The detector's pattern types, by the shape of the two lines."""

    RISING_WEDGE = 1
    FALLING_WEDGE = 2
    SYMMETRICAL_TRIANGLE = 3
    ASCENDING_TRIANGLE = 4
    DESCENDING_TRIANGLE = 5
    BULLISH_SQUEEZE = 6
    BEARISH_SQUEEZE = 7


class Scale(IntEnum):
    """The two swing scales that run side by side."""

    SHORT = 0
    LONG = 1


class EndReason(IntEnum):
    """Why a version stopped being served as forming; FORMING if it still is."""

    FORMING = 0
    TRIGGERED = 1
    MISSED = 2
    INVALIDATED = 3
    SUPERSEDED = 4
    APEX = 5
    STALE = 6
    TOO_LONG = 7
    DATA_GAP = 8
    FADED = 9


class Rule(IntEnum):
    """The tests of a candidate, in the order in which they are made; NONE if it passes them all."""

    NONE = 0
    CONVERGENCE = 1
    LENGTH = 2
    PROGRESS = 3
    OFFSET = 4
    RECENCY = 5
    HEIGHT = 6
    SLOPES = 7
    POLE_HEIGHT = 8
    POLE_BARS = 9
    POLE_SPEED = 10
    POLE_STEP = 11
    POLE_GAP = 12
    POLE_STRAIGHTNESS = 13
    POLE_WIDTH = 14
    DRIFT = 15
    POLE_RETRACE = 16
    EARLY_CLOSE = 17
    TOUCHES = 18
    CROSSINGS = 19
    TOUCH_GAP = 20
    LARGEST_BAR = 21
    LARGEST_GAP = 22
    DIRECTNESS = 23
    THIN = 24
    NEARNESS = 25
    SCORE = 26


class Outcome(IntEnum):
    """Whether a trade is open, won or lost, or closed with the listing of its symbol."""

    OPEN = 0
    WIN = 1
    LOSS = 2
    DELISTED = 3


VERSION = np.dtype(
    [
        ("type", "i1"),  # PatternType
        ("scale", "i1"),  # Scale
        ("direction", "i1"),  # +1 bullish, -1 bearish; a symmetrical triangle: sign of its approach
        ("upper_start", "i4"),  # bar index of the upper line's first touch
        ("upper_value", "f8"),  # log price of the upper line there
        ("upper_slope", "f8"),  # log price per bar
        ("lower_start", "i4"),
        ("lower_value", "f8"),
        ("lower_slope", "f8"),
        ("first_served", "i4"),  # bar index of the first session served
        ("end", "i4"),  # bar index of the end event, -1 while forming
        ("end_reason", "i1"),  # EndReason
        ("last_touch", "i4"),  # bar index of the newest touch of either line
        ("first_quality", "f8"),  # percent, when it was first served
        ("quality", "f8"),  # the same as of its last close as a forming setup
        ("height", "f8"),  # log measured move: width at the later start, or the pole
        ("width", "f8"),  # log width at the earlier start
        ("approach", "f8"),  # log move into the pattern: signed pole, or the 20 bars before it
        ("upper_touches", "i2"),
        ("lower_touches", "i2"),
        ("crossings", "i2"),
        ("lineage", "i4"),  # number of the lineage within the symbol, from 0
        ("attempt", "i2"),  # 1-based
    ]
)

TRADE = np.dtype(
    [
        ("version", "i4"),  # row of the version that triggered
        ("direction", "i1"),  # traded direction, +1 or -1
        ("entry", "i4"),  # bar index of the breakout bar
        ("entry_price", "f8"),
        ("stop_price", "f8"),
        ("target_price", "f8"),
        ("exit", "i4"),  # bar index, -1 while open
        ("exit_price", "f8"),  # NaN while open
        ("outcome", "i1"),  # Outcome
        ("atr", "f8"),  # log ATR at the breakout bar
    ]
)

Rows = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class EventLog:
    """Every version served (`VERSION` rows) and every trade (`TRADE` rows), oldest first."""

    versions: Rows
    trades: Rows

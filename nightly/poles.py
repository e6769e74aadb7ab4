"""Poles: the steep run into a pennant, found again from what a walk wrote down."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nightly.bars import Bars
from nightly.detector import DEFAULTS, Parameters
from nightly.events import PatternType, Rows


@dataclass(frozen=True, slots=True)
class Pole:
    """A pole from its base to its tip, by bar and by the extreme price of that bar."""

    base: int
    base_price: float
    tip: int
    tip_price: float


def pole_of(bars: Bars, version: Rows, parameters: Parameters = DEFAULTS) -> Pole | None:
    """The pole of a squeeze version; None for every other type.

    The tip is the first touch. The base is the first bar before it, among those in which a pole may
    begin, whose distance from the tip is the height that the walk measured.
    """
    ends = {
        PatternType.BULLISH_SQUEEZE: (bars.low, bars.high),
        PatternType.BEARISH_SQUEEZE: (bars.high, bars.low),
    }.get(PatternType(int(version["type"])))
    if ends is None:
        return None
    begins, tips = ends
    tip = min(int(version["upper_start"]), int(version["lower_start"]))
    first = max(0, tip - parameters.pole_bars)
    heights = np.abs(np.log(tips[tip] / begins[first:tip]))
    bases = first + np.flatnonzero(np.isclose(heights, version["height"], rtol=0, atol=1e-9))
    if not len(bases):
        return None
    base = int(bases[0])
    return Pole(base, float(begins[base]), tip, float(tips[tip]))

"""Naming: the pattern type of a pair of the long scale, with its direction and height.

docs/detector.md section 3. Squeezes are named by their pole (`squeezes`).
"""

from __future__ import annotations

from typing import NamedTuple

from nightly.events import Rows, Rule
from nightly.kernel.compiler import compiled
from nightly.kernel.pairs import (
    NO_PATTERN,
    Pair,
    direction_of,
    typical_atr,
    wedge_or_triangle,
)
from nightly.kernel.prices import UPPER
from nightly.kernel.rules import PASSED, Finding, failed
from nightly.parameters import Parameters


class Naming(NamedTuple):
    """What a pair is; `finding` says why, if it is nothing."""

    finding: Finding
    type: int
    direction: int
    height: float  # log distance from the broken line to the target
    approach: float  # signed log move into the pattern


@compiled
def unnamed(finding: Finding) -> Naming:
    """The naming of a pair that is no pattern."""
    return Naming(finding, NO_PATTERN, 0, 0.0, 0.0)


@compiled
def name_wedge_or_triangle(prices: Rows, pair: Pair, bar: int, parameters: Parameters) -> Naming:
    """The wedge or triangle that a pair is, or the rule it fails."""
    atr = typical_atr(prices, pair, bar)
    if pair.height < parameters.height_min * atr:
        return unnamed(failed(Rule.HEIGHT, pair.height / atr, parameters.height_min))
    kind = wedge_or_triangle(pair, parameters)
    if kind == NO_PATTERN:
        flatter = min(abs(pair.upper_move), abs(pair.lower_move))
        return unnamed(failed(Rule.SLOPES, flatter, parameters.wedge_slope))
    before = max(pair.start - parameters.approach_bars, 0)
    approach = prices[pair.start].log_close[UPPER] - prices[before].log_close[UPPER]
    return Naming(PASSED, kind, direction_of(kind, approach), pair.height, approach)

"""Legs: how directly price moved back and forth between two lines (docs/detector.md section 3).

Touches show where price turned; legs show what it did in between. A random walk that happens to
touch two lines in turn wanders on the way.
"""

from __future__ import annotations

from nightly.events import Rows
from nightly.kernel.compiler import compiled
from nightly.kernel.lines import Line
from nightly.kernel.pairs import Pair, width_at
from nightly.kernel.prices import UPPER
from nightly.parameters import Parameters


@compiled
def is_direct(
    prices: Rows, upper: Line, lower: Line, pair: Pair, bar: int, parameters: Parameters
) -> bool:
    """Whether the legs of a pattern make up enough of all moves of its closes."""
    if parameters.efficiency_min <= 0.0:
        return True
    return leg_efficiency(prices, upper, lower, pair, bar, parameters.leg_min) >= (
        parameters.efficiency_min
    )


@compiled
def leg_efficiency(
    prices: Rows, upper: Line, lower: Line, pair: Pair, bar: int, leg_min: float
) -> float:
    """The summed length of all legs of a pattern, as a share of all moves between its closes.

    A leg ends where price turns back by a share of the width; the last leg is unfinished.
    """
    path = 0.0
    travelled = 0.0
    turn = prices[pair.start].log_close[UPPER]
    before = highest = lowest = turn
    direction = 0
    for later in range(pair.start + 1, bar + 1):
        close = prices[later].log_close[UPPER]
        path += abs(close - before)
        before = close
        highest = max(highest, close)
        lowest = min(lowest, close)
        back = leg_min * width_at(upper, lower, later)
        if direction >= 0 and close < highest - back:
            travelled += highest - turn
            turn = highest
            highest = lowest = close
            direction = -1
        elif direction <= 0 and close > lowest + back:
            travelled += turn - lowest
            turn = lowest
            highest = lowest = close
            direction = 1
    travelled += highest - turn if direction > 0 else turn - lowest
    return float(travelled / max(path, 1e-12))


@compiled
def straightness(prices: Rows, first: int, last: int) -> float:
    """The net move of the closes between two bars as a share of the sum of all their moves."""
    path = 0.0
    for bar in range(first + 1, last + 1):
        path += abs(prices[bar].log_close[UPPER] - prices[bar - 1].log_close[UPPER])
    net = prices[last].log_close[UPPER] - prices[first].log_close[UPPER]
    return float(abs(net) / max(path, 1e-12))

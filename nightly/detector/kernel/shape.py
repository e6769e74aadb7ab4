"""Shape: how price lies between two lines, in numbers, and the score that they give.

docs/detector.md section 5 explains each number. All are shares or ratios, so they depend neither on
the price level nor on the volatility of a symbol. The score is the chance that chart readers accept
the drawing, by the weights of `nightly.detector.judgement`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nightly.bars import Floats
from nightly.detector.events import PatternType, Rows
from nightly.detector.judgement import BASES, PARTS
from nightly.detector.kernel.compiler import compiled
from nightly.detector.kernel.lines import value_at
from nightly.detector.kernel.naming import (
    is_squeeze,
    largest_gap_of,
    largest_step,
    pole_before,
    straightness,
)
from nightly.detector.kernel.pairs import Pair, width_at
from nightly.detector.kernel.prices import LOWER, UPPER
from nightly.detector.kernel.touches import Contacts
from nightly.detector.parameters import Parameters

EIGHTHS = 8


class Shape(NamedTuple):
    """The measures of a pair of lines as of a bar, in the order of `judgement.PARTS`."""

    white: float  # width that price leaves empty at the line that it neglects more
    lean: float  # distance of the mean close from the middle, in widths
    offset: float  # share of the length before the later line starts
    contacts: float  # touches of the line that has fewer
    length: float  # bars
    largest_bar: float  # range of the largest bar, in widths at the start
    largest_gap: float  # largest gap between a close and the next open, in widths at the start
    outside: float  # share of the bars that reach beyond a line
    run_in: float  # range of the bars before, half as many as in the pattern, in widths
    directness: float  # summed length of all legs as a share of all moves of the closes
    inward: float  # move of the line that turns inward least, in widths; negative if it does not
    pole_height: float  # ATR before the pole; this and the rest are 0 without a pole
    pole_width: float  # width at the start over the height of the pole
    pole_step: float  # largest close-to-close move over the net move of the pole's closes
    pole_gap: float  # share of the pole's largest gap
    pole_straightness: float  # net move of its closes as a share of all their moves


@compiled
def shape_of(
    prices: Rows,
    lines: Rows,
    pair: Pair,
    contacts: Contacts,
    kind: int,
    bar: int,
    parameters: Parameters,
) -> Shape:
    """Measure a pair of lines as of a bar."""
    largest_bar, largest_gap = largest_of(prices, pair, bar)
    height, width, step, gap, straight = measured_pole(prices, pair, kind, parameters)
    return Shape(
        max(white_at(prices, lines, UPPER, pair, bar), white_at(prices, lines, LOWER, pair, bar)),
        lean_of(prices, lines, pair, bar),
        (pair.later_start - pair.start) / pair.length,
        float(min(contacts.upper.number, contacts.lower.number)),
        float(pair.length),
        largest_bar,
        largest_gap,
        outside_of(prices, lines, pair, bar, parameters.outside_min),
        run_in_of(prices, pair),
        directness_of(prices, lines, pair, bar, parameters.leg_min),
        min(-pair.upper_move, pair.lower_move),
        height,
        width,
        step,
        gap,
        straight,
    )


@compiled
def white_at(prices: Rows, lines: Rows, side: int, pair: Pair, bar: int) -> float:
    """The share of the width that price leaves empty at a line.

    It is the mean over eighths of the time. In each eighth the nearest approach of price counts,
    in it or in a neighbour, because price cannot be at both lines at once.
    """
    before = 1.0
    here = nearest_in(prices, lines, side, pair.later_start, bar, 0)
    total = 0.0
    for eighth in range(EIGHTHS):
        after = 1.0
        if eighth + 1 < EIGHTHS:
            after = nearest_in(prices, lines, side, pair.later_start, bar, eighth + 1)
        total += min(before, here, after)
        before, here = here, after
    return total / EIGHTHS


@compiled
def nearest_in(prices: Rows, lines: Rows, side: int, first: int, last: int, eighth: int) -> float:
    """The nearest approach of price to a line in an eighth of a span, in widths, 0 to 1."""
    count = last + 1 - first
    nearest = 1.0
    for bar in range(first + count * eighth // EIGHTHS, first + count * (eighth + 1) // EIGHTHS):
        distance = value_at(lines[side], bar) - prices[bar].extreme[side]
        nearest = min(nearest, distance / width_at(lines[UPPER], lines[LOWER], bar))
    return max(nearest, 0.0)


@compiled
def lean_of(prices: Rows, lines: Rows, pair: Pair, bar: int) -> float:
    """How far the mean position of the closes between the lines is from the middle, in widths."""
    total = 0.0
    for k in range(pair.start, bar + 1):
        above = prices[k].log_close[UPPER] + value_at(lines[LOWER], k)
        total += above / width_at(lines[UPPER], lines[LOWER], k)
    return abs(total / (pair.length + 1) - 0.5)


@compiled
def largest_of(prices: Rows, pair: Pair, bar: int) -> tuple[float, float]:
    """The range of the largest bar and the largest gap of a pattern, in widths at the start."""
    largest = 0.0
    gap = 0.0
    for k in range(pair.start, bar + 1):
        price = prices[k]
        largest = max(largest, price.extreme[UPPER] + price.extreme[LOWER])
        if k > pair.start:
            gap = max(gap, abs(price.gap))
    return largest / pair.width, gap / pair.width


@compiled
def run_in_of(prices: Rows, pair: Pair) -> float:
    """The range of the bars before a pattern, half as many as it has, in widths at the start."""
    top = prices[pair.start].extreme[UPPER]
    bottom = prices[pair.start].extreme[LOWER]
    for k in range(max(0, pair.start - pair.length // 2), pair.start):
        top = max(top, prices[k].extreme[UPPER])
        bottom = max(bottom, prices[k].extreme[LOWER])
    return float((top + bottom) / pair.width)


@compiled
def directness_of(prices: Rows, lines: Rows, pair: Pair, bar: int, leg_min: float) -> float:
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
        back = leg_min * width_at(lines[UPPER], lines[LOWER], later)
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
def outside_of(prices: Rows, lines: Rows, pair: Pair, bar: int, least: float) -> float:
    """The share of the bars that reach beyond a line by more than a share of the width."""
    count = 0
    for k in range(pair.start, bar + 1):
        price = prices[k]
        upper = value_at(lines[UPPER], k)
        lower = value_at(lines[LOWER], k)
        slack = least * (upper + lower)
        if price.extreme[UPPER] > upper + slack or price.extreme[LOWER] > lower + slack:
            count += 1
    return count / (pair.length + 1)


@compiled
def measured_pole(
    prices: Rows, pair: Pair, kind: int, parameters: Parameters
) -> tuple[float, float, float, float, float]:
    """Height, width, step, gap and straightness of a squeeze's pole as in `Shape`, else zeros."""
    if not is_squeeze(kind):
        return 0.0, 0.0, 0.0, 0.0, 0.0
    side = UPPER if kind == PatternType.BULLISH_SQUEEZE else LOWER
    pole = pole_before(prices, side, pair.start, parameters)
    return (
        pole.height / prices[pole.base].atr,
        pair.width / pole.height,
        largest_step(prices, pole),
        largest_gap_of(prices, pole) / pole.height,
        straightness(prices, pole),
    )


# [part], by scale
LONG_LOW, LONG_HIGH, LONG_EACH = (
    np.array(column) for column in zip(*(part.long for part in PARTS), strict=True)
)
SQUEEZE_LOW, SQUEEZE_HIGH, SQUEEZE_EACH = (
    np.array(column) for column in zip(*(part.squeeze for part in PARTS), strict=True)
)
# [type]; no type has the number 0.
BASE = np.array([0.0, *(BASES[kind] for kind in PatternType)])


@compiled
def judged(shape: Shape, kind: int) -> float:
    """The score, 0 to 100: the chance in percent that both readers would accept the drawing."""
    odds = BASE[kind]
    if is_squeeze(kind):
        odds += weighed(shape, SQUEEZE_LOW, SQUEEZE_HIGH, SQUEEZE_EACH)
    else:
        odds += weighed(shape, LONG_LOW, LONG_HIGH, LONG_EACH)
    return float(100.0 / (1.0 + np.exp(-odds)))


@compiled
def weighed(shape: Shape, low: Floats, high: Floats, each: Floats) -> float:
    """The log-odds that the numbers of a shape add."""
    total = 0.0
    for part in range(len(each)):
        total += each[part] * min(max(shape[part], low[part]), high[part])
    return total

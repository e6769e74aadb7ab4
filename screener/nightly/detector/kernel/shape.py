"""Shape: how price lies between two lines, in numbers, and the score that they give.

`research/chartist/README.md` explains each number. All are shares or ratios, so they depend neither
on the price level nor on the volatility of a symbol. The score is the chance that chart readers
accept the drawing, by the trees of `screener.nightly.detector.judgement`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from screener.nightly.bars import Floats
from screener.nightly.detector.events import PatternType, Rows
from screener.nightly.detector.judgement import DEPTH, LEAVES, Parts, read_trees
from screener.nightly.detector.kernel.compiler import compiled
from screener.nightly.detector.kernel.lines import value_at
from screener.nightly.detector.kernel.naming import is_squeeze, moves_of, pole_before, retracement
from screener.nightly.detector.kernel.pairs import LinePair, typical_atr, width_at
from screener.nightly.detector.kernel.prices import LOWER, UPPER
from screener.nightly.detector.kernel.touches import Contacts
from screener.nightly.detector.parameters import Parameters

EIGHTHS = 8
BALANCE_MIN = 0.05  # convergence below which it is not divided by
VISIT, DEPARTURE = 0.04, 0.25  # widths from a line at which price is there, and away from it
BEFORE_MIN = 5  # bars before a pattern that are looked at, if a third of its length is less


class Shape(NamedTuple):
    """The measures of a pair of lines as of a bar; `judgement.csv` names them."""

    white: float  # width that price leaves empty at the line that it neglects more
    white_other: float  # the same at the other line
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
    convergence: float  # share of the way to the apex
    steepness: float  # slope of the steeper line, in ATR per bar
    height: float  # width at the later start, in ATR
    touches: float  # of both lines
    crossings: float  # changes of side in the sequence of touches
    touch_gap: float  # share of the length without any touch, at most
    reach: float  # share of the length between the first and last touch of a line, the lesser
    residual: float  # mean distance of a touch from its line, in ATR
    middle: float  # crossings of the middle by the closes
    bar_size: float  # mean range of the bars, in mean widths
    place: float  # distance of the last close from the nearer line, in widths; negative if beyond
    pole_height: float  # ATR before the pole; this and the rest are 0 without a pole
    pole_width: float  # width at the start over the height of the pole
    pole_step: float  # largest close-to-close move over the net move of the pole's closes
    pole_gap: float  # share of the pole's largest gap
    pole_straightness: float  # net move of its closes as a share of all their moves
    pole_bars: float  # bars from base to tip
    pole_bar: float  # range of the largest bar of the pole, as a share of it
    pole_retrace: float  # share of the pole that the bars since its tip give back
    drift: float  # move of the middle of the lines along the pole, in widths
    narrowing: float  # convergence between the touches, in ATR: convergence * reach * height
    turning: float  # inward * reach * height, in ATR
    other_move: float  # convergence less inward: inward move of the other line, in widths
    balance: float  # inward as a share of the convergence
    scatter: float  # residual over height
    middle_share: float  # middle over length
    crossing_share: float  # crossings over length
    recency: float  # share of the length since the line that waits longer was touched
    newest: float  # share of the length since the newest touch
    one_side: float  # share of the bars in the longest stretch of closes on one side of the middle
    wick: float  # mean length of the wicks that touch, in ATR
    visits: float  # times that price came to the line that it visits more, from away
    visits_other: float  # the same at the other line
    width_left: float  # width today over the width at the later start
    before: float  # how far the bars before reach beyond either line drawn back, the lesser


@compiled
def shape_of(
    prices: Rows,
    lines: Rows,
    pair: LinePair,
    contacts: Contacts,
    kind: int,
    bar: int,
    parameters: Parameters,
) -> Shape:
    """Measure a pair of lines as of a bar."""
    atr = typical_atr(prices, pair, bar)
    inner = measured_bars(prices, lines, pair, bar, parameters)
    white_upper, white_lower = white_at(prices, lines, pair.later_start, bar)
    upper, lower = contacts.upper, contacts.lower
    touches = upper.number + lower.number
    crossings = float(contacts.sequence.crossings)
    height, length = pair.height / atr, float(pair.length)
    inward = min(-pair.upper_move, pair.lower_move)
    reach = min(upper.last - upper.first, lower.last - lower.first) / length
    residual = (upper.residual + lower.residual) / max(touches, 1)
    pole = measured_pole(prices, pair, kind, bar, parameters)
    return Shape(
        max(white_upper, white_lower),
        min(white_upper, white_lower),
        inner.lean,
        (pair.later_start - pair.start) / pair.length,
        float(min(upper.number, lower.number)),
        length,
        inner.largest_bar,
        inner.largest_gap,
        inner.outside,
        run_in_of(prices, pair),
        inner.directness,
        inward,
        pair.progress,
        max(abs(lines[UPPER].slope), abs(lines[LOWER].slope)) / atr,
        height,
        float(touches),
        crossings,
        contacts.sequence.largest_gap / length,
        reach,
        residual,
        inner.middle,
        inner.bar_size,
        place_of(prices, lines, bar),
        pole.height,
        pole.width,
        pole.step,
        pole.gap,
        pole.straightness,
        pole.bars,
        pole.bar,
        pole.retrace,
        pole.drift,
        pair.progress * reach * height,
        inward * reach * height,
        pair.progress - inward,
        inward / max(pair.progress, BALANCE_MIN),
        residual / max(height, 1e-9),
        inner.middle / length,
        crossings / length,
        (bar - min(upper.last, lower.last)) / length,
        (bar - max(upper.last, lower.last)) / length,
        inner.one_side,
        (upper.wick + lower.wick) / max(touches, 1),
        float(max(inner.visits_upper, inner.visits_lower)),
        float(min(inner.visits_upper, inner.visits_lower)),
        width_at(lines[UPPER], lines[LOWER], bar) / pair.height,
        before_of(prices, lines, pair),
    )


@compiled
def white_at(prices: Rows, lines: Rows, first: int, last: int) -> tuple[float, float]:
    """The share of the width that price leaves empty at the upper and at the lower line.

    It is the mean over eighths of the time. In each eighth the nearest approach of price counts,
    in it or in a neighbour, because price cannot be at both lines at once.
    """
    count = last + 1 - first
    before_upper = before_lower = here_upper = here_lower = 1.0
    upper = lower = 0.0
    for eighth in range(EIGHTHS + 1):
        after_upper = after_lower = 1.0
        if eighth < EIGHTHS:
            begin, end = first + count * eighth // EIGHTHS, first + count * (eighth + 1) // EIGHTHS
            after_upper, after_lower = nearest_in(prices, lines, begin, end)
        if eighth > 0:
            upper += min(before_upper, here_upper, after_upper)
            lower += min(before_lower, here_lower, after_lower)
        before_upper, here_upper = here_upper, after_upper
        before_lower, here_lower = here_lower, after_lower
    return upper / EIGHTHS, lower / EIGHTHS


@compiled
def nearest_in(prices: Rows, lines: Rows, first: int, end: int) -> tuple[float, float]:
    """The nearest approach of price to each line before a last bar, in widths, 0 to 1."""
    nearest_upper = nearest_lower = 1.0
    for bar in range(first, end):
        upper, lower = value_at(lines[UPPER], bar), value_at(lines[LOWER], bar)
        share = 1.0 / (upper + lower)
        nearest_upper = min(nearest_upper, (upper - prices[bar].extreme[UPPER]) * share)
        nearest_lower = min(nearest_lower, (lower - prices[bar].extreme[LOWER]) * share)
    return max(nearest_upper, 0.0), max(nearest_lower, 0.0)


class Inner(NamedTuple):
    """The measures of a `Shape` that depend on each bar of the pattern."""

    lean: float
    largest_bar: float
    largest_gap: float
    outside: float
    directness: float
    middle: float
    bar_size: float
    one_side: float
    visits_upper: int
    visits_lower: int


@compiled
def measured_bars(
    prices: Rows, lines: Rows, pair: LinePair, bar: int, parameters: Parameters
) -> Inner:
    """Measure the bars of a pattern in one pass, since this is where a walk spends its time."""
    lean = largest = gap = ranges = was = 0.0
    outside = crossings = longest = visits_upper = visits_lower = 0
    crossed = pair.start
    away_upper = away_lower = True
    near, far = VISIT * pair.height, DEPARTURE * pair.height
    for k in range(pair.start, bar + 1):
        price = prices[k]
        upper, lower = value_at(lines[UPPER], k), value_at(lines[LOWER], k)
        width = upper + lower
        side = price.log_close[UPPER] + lower - 0.5 * width
        lean += side / width
        if side * was < 0.0:
            crossings += 1
            crossed = k
        longest = max(longest, k + 1 - crossed)
        was = side if side != 0.0 else was
        top, bottom = price.extreme[UPPER], price.extreme[LOWER]
        ranges += top + bottom
        largest = max(largest, top + bottom)
        slack = parameters.outside_min * width
        outside += top > upper + slack or bottom > lower + slack
        visits_upper += away_upper and upper - top <= near
        away_upper = upper - top > (near if away_upper else far)
        visits_lower += away_lower and lower - bottom <= near
        away_lower = lower - bottom > (near if away_lower else far)
        if k > pair.start:
            gap = max(gap, abs(price.gap))
    bars = pair.length + 1
    return Inner(
        abs(lean / bars),
        largest / pair.width,
        gap / pair.width,
        outside / bars,
        directness_of(prices, lines, pair, bar, parameters.leg_min),
        float(crossings),
        ranges / bars / (0.5 * (pair.width + width_at(lines[UPPER], lines[LOWER], bar))),
        longest / bars,
        visits_upper,
        visits_lower,
    )


@compiled
def before_of(prices: Rows, lines: Rows, pair: LinePair) -> float:
    """How far the bars before a pattern, a third as many as it has, reach beyond its lines drawn
    back: the lesser of the reach above and below, in widths; 0 without such bars.
    """
    above = below = -np.inf
    for k in range(max(0, pair.start - max(BEFORE_MIN, pair.length // 3)), pair.start):
        above = max(above, prices[k].extreme[UPPER] - value_at(lines[UPPER], k))
        below = max(below, prices[k].extreme[LOWER] - value_at(lines[LOWER], k))
    return float(min(above, below) / pair.height) if pair.start > 0 else 0.0


@compiled
def run_in_of(prices: Rows, pair: LinePair) -> float:
    """The range of the bars before a pattern, half as many as it has, in widths at the start."""
    top = prices[pair.start].extreme[UPPER]
    bottom = prices[pair.start].extreme[LOWER]
    for k in range(max(0, pair.start - pair.length // 2), pair.start):
        top = max(top, prices[k].extreme[UPPER])
        bottom = max(bottom, prices[k].extreme[LOWER])
    return float((top + bottom) / pair.width)


@compiled
def directness_of(prices: Rows, lines: Rows, pair: LinePair, bar: int, leg_min: float) -> float:
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
    rise = highest - turn if direction >= 0 else 0.0
    fall = turn - lowest if direction <= 0 else 0.0
    travelled += max(rise, fall)
    return float(travelled / max(path, 1e-12))


@compiled
def place_of(prices: Rows, lines: Rows, bar: int) -> float:
    """How far the last close is from the nearer line, in widths of today."""
    over = value_at(lines[UPPER], bar) - prices[bar].log_close[UPPER]
    under = value_at(lines[LOWER], bar) - prices[bar].log_close[LOWER]
    return float(min(over, under) / width_at(lines[UPPER], lines[LOWER], bar))


class Pole(NamedTuple):
    """The last measures of a `Shape`: those of the pole of a squeeze, else zeros."""

    height: float
    width: float
    step: float
    gap: float
    straightness: float
    bars: float
    bar: float
    retrace: float
    drift: float


@compiled
def measured_pole(
    prices: Rows, pair: LinePair, kind: int, bar: int, parameters: Parameters
) -> Pole:
    """Measure the pole of a squeeze."""
    if not is_squeeze(kind):
        return Pole(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    side = UPPER if kind == PatternType.BULLISH_SQUEEZE else LOWER
    pole = pole_before(prices, side, pair.start, parameters)
    moves = moves_of(prices, pole)
    drift = 0.5 * (pair.upper_move + pair.lower_move)
    height = max(pole.height, 1e-12)
    return Pole(
        pole.height / prices[pole.base].atr,
        pair.width / height,
        moves.step,
        moves.gap / height,
        moves.straightness,
        float(pole.tip - pole.base),
        moves.bar / height,
        retracement(prices, side, pole, bar) / height,
        drift if side == UPPER else -drift,
    )


LONG_BASE, LONG_PART, LONG_BOUND, LONG_LEAF = read_trees("long", Shape._fields)
SQUEEZE_BASE, SQUEEZE_PART, SQUEEZE_BOUND, SQUEEZE_LEAF = read_trees("squeeze", Shape._fields)
ROOT, CHILDREN = np.uint64(1), np.uint64(2)


@compiled
def judged(shape: Shape, kind: int) -> float:
    """The score, 0 to 100: the chance in percent that both readers would accept the drawing."""
    numbers = np.array(shape)  # a tuple is slow to index by a number
    if is_squeeze(kind):
        odds = SQUEEZE_BASE + weighed(numbers, SQUEEZE_PART, SQUEEZE_BOUND, SQUEEZE_LEAF)
    else:
        odds = LONG_BASE + weighed(numbers, LONG_PART, LONG_BOUND, LONG_LEAF)
    return float(100.0 / (1.0 + np.exp(-odds)))


@compiled
def weighed(numbers: Floats, part: Parts, bound: Floats, leaf: Floats) -> float:
    """The log-odds that trees give a shape: the sum of the leaves that it falls into."""
    total = 0.0
    for tree in range(len(leaf)):
        node = ROOT
        for _ in range(DEPTH):
            node = CHILDREN * node + np.uint64(numbers[part[tree, node]] > bound[tree, node])
        total += leaf[tree, node - np.uint64(LEAVES)]
    return total

"""Naming: the pattern type of a pair of lines, or the rule that it fails.

Wedges and triangles are named by how their lines move (docs/detector.md section 3). A squeeze is a
steep pole, then a small pattern that gives little of it back (section 4). A pole is tested in the
space of its side: there the tip is the highest extreme, so one piece of code serves bullish and
bearish squeezes.
"""

from __future__ import annotations

from typing import NamedTuple

from screener.nightly.detector.events import PatternType, Rows, Rule, Scale
from screener.nightly.detector.kernel.compiler import Record, compiled
from screener.nightly.detector.kernel.pairs import LinePair, typical_atr
from screener.nightly.detector.kernel.prices import LOWER, UPPER
from screener.nightly.detector.parameters import Parameters

NO_PATTERN = 0


class Finding(NamedTuple):
    """The first rule that a candidate fails, with its number and the bound; or `PASSED`."""

    rule: int
    value: float
    bound: float


PASSED = Finding(int(Rule.NONE), 0.0, 0.0)


@compiled
def failed(rule: Rule, value: float, bound: float) -> Finding:
    """The finding of a failed rule. Converts, so that every finding has the same type."""
    return Finding(rule.value, float(value), float(bound))


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
def name_of(
    prices: Rows, lines: Rows, pair: LinePair, scale: int, bar: int, parameters: Parameters
) -> Naming:
    """What a pair of lines of a scale is, or the rule it fails."""
    if scale == Scale.SHORT:
        return name_squeeze(prices, lines, pair, bar, parameters)
    return name_wedge_or_triangle(prices, lines, pair, bar, parameters)


@compiled
def name_wedge_or_triangle(
    prices: Rows, lines: Rows, pair: LinePair, bar: int, parameters: Parameters
) -> Naming:
    """The wedge or triangle that a pair is, or the rule it fails."""
    atr = typical_atr(prices, pair, bar)
    if pair.height < parameters.height_min * atr:
        return unnamed(failed(Rule.HEIGHT, pair.height / atr, parameters.height_min))
    kind = wedge_or_triangle(pair, parameters)
    if kind == NO_PATTERN:
        flatter = min(abs(pair.upper_move), abs(pair.lower_move))
        return unnamed(failed(Rule.SLOPES, flatter, parameters.flat_slope))
    before = max(pair.start - parameters.approach_bars, 0)
    approach = prices[pair.start].log_close[UPPER] - prices[before].log_close[UPPER]
    came = approach
    if approach == 0.0:  # then price came from the line that it touched last
        came = float(lines[LOWER].start - lines[UPPER].start)
    return Naming(PASSED, kind, direction_of(kind, came), pair.height, approach)


@compiled
def slope_sign(move: float, flat: float) -> int:
    """+1 or -1 for a line that slopes, 0 for a flat one."""
    if abs(move) <= flat:
        return 0
    return 1 if move > 0.0 else -1


@compiled
def wedge_or_triangle(pair: LinePair, parameters: Parameters) -> int:
    """The pattern type by the moves of both lines, or NO_PATTERN if they fit no type."""
    upper = slope_sign(pair.upper_move, parameters.flat_slope)
    lower = slope_sign(pair.lower_move, parameters.flat_slope)
    kind = NO_PATTERN
    if upper == 1 and lower == 1:
        kind = PatternType.RISING_WEDGE
    elif upper == -1 and lower == -1:
        kind = PatternType.FALLING_WEDGE
    elif upper == -1 and lower == 1:
        kind = PatternType.SYMMETRICAL_TRIANGLE
    elif upper == 0 and lower == 1:
        kind = PatternType.ASCENDING_TRIANGLE
    elif upper == -1 and lower == 0:
        kind = PatternType.DESCENDING_TRIANGLE
    return kind


@compiled
def is_squeeze(kind: int) -> bool:
    """Whether a pattern type is a squeeze, which has rules and weights of its own."""
    return bool(kind == PatternType.BULLISH_SQUEEZE or kind == PatternType.BEARISH_SQUEEZE)


@compiled
def direction_of(kind: int, approach: float) -> int:
    """The direction a wedge or triangle is expected to break: +1 or -1."""
    if kind == PatternType.FALLING_WEDGE or kind == PatternType.ASCENDING_TRIANGLE:
        return 1
    if kind == PatternType.SYMMETRICAL_TRIANGLE:
        return 1 if approach >= 0 else -1
    return -1


class PoleSpan(NamedTuple):
    """The run into a squeeze, from its base to its tip."""

    base: int  # bar
    tip: int  # bar; equal to the base if there is no run
    height: float  # log distance between the extremes of base and tip


class PoleMoves(NamedTuple):
    """The moves of price on a pole, after its base."""

    step: float  # largest move between two closes, as a share of the net move of the closes
    bar: float  # largest range of a bar
    gap: float  # largest log distance between a close and the next open
    straightness: float  # net move of the closes as a share of the sum of all their moves


@compiled
def name_squeeze(
    prices: Rows, lines: Rows, pair: LinePair, bar: int, parameters: Parameters
) -> Naming:
    """The squeeze that a pair is, by the pole that ends at its first touch, or the rule it fails.

    Where both lines start on one bar, the higher pole counts.
    """
    finding = inward(pair, parameters)
    if finding.rule != Rule.NONE:
        return unnamed(finding)
    side, pole = higher_pole(prices, lines[UPPER], lines[LOWER], pair, parameters)
    finding = tested_pole(prices, pole, parameters)
    if finding.rule == Rule.NONE:
        finding = tested_squeeze(prices, side, pair, pole, bar, parameters)
    if finding.rule != Rule.NONE:
        return unnamed(finding)
    if side == UPPER:
        return Naming(PASSED, PatternType.BULLISH_SQUEEZE.value, 1, pole.height, pole.height)
    return Naming(PASSED, PatternType.BEARISH_SQUEEZE.value, -1, pole.height, -pole.height)


@compiled
def follows_pole(
    prices: Rows, upper: Record, lower: Record, pair: LinePair, parameters: Parameters
) -> bool:
    """Whether a pole ends at the first touch of a pair."""
    _, pole = higher_pole(prices, upper, lower, pair, parameters)
    return bool(tested_pole(prices, pole, parameters).rule == Rule.NONE)


@compiled
def higher_pole(
    prices: Rows, upper: Record, lower: Record, pair: LinePair, parameters: Parameters
) -> tuple[int, PoleSpan]:
    """The pole that ends at the first touch of a pair, and the side of its tip."""
    side = UPPER if upper.start == pair.start else LOWER
    pole = pole_before(prices, side, pair.start, parameters)
    if upper.start == lower.start:
        other = pole_before(prices, LOWER, pair.start, parameters)
        if other.height > pole.height:
            return LOWER, other
    return side, pole


@compiled
def inward(pair: LinePair, parameters: Parameters) -> Finding:
    """Whether both lines move towards each other; if not, the shape is a flag or a wedge."""
    slower = min(-pair.upper_move, pair.lower_move)
    if slower < parameters.squeeze_slope_min:
        return failed(Rule.SLOPES, slower, parameters.squeeze_slope_min)
    return PASSED


@compiled
def pole_before(prices: Rows, side: int, start: int, parameters: Parameters) -> PoleSpan:
    """The run into a pattern that starts at a bar; its tip is the highest high near that bar.

    There is no run if an earlier bar exceeds the tip.
    """
    return pole_to(prices, side, tip_near(prices, side, start, parameters.tip_bars), parameters)


@compiled
def pole_to(prices: Rows, side: int, tip: int, parameters: Parameters) -> PoleSpan:
    """The run that ends at a tip, from the first bar with the lowest low before it."""
    base = tip
    for bar in range(tip - 1, max(tip - parameters.pole_bars, prices[tip].segment) - 1, -1):
        if prices[bar].extreme[side] > prices[tip].extreme[side]:
            return PoleSpan(tip, tip, 0.0)
        if prices[bar].extreme[1 - side] >= prices[base].extreme[1 - side]:
            base = bar
    return PoleSpan(base, tip, prices[tip].extreme[side] + prices[base].extreme[1 - side])


@compiled
def tip_near(prices: Rows, side: int, start: int, reach: int) -> int:
    """The bar with the highest high within so many bars of a start, the first of equals."""
    first = max(start - reach, int(prices[start].segment))
    tip = first
    for bar in range(first + 1, min(start + reach + 1, len(prices))):
        if prices[bar].extreme[side] > prices[tip].extreme[side]:
            tip = bar
    return tip


@compiled
def tested_pole(prices: Rows, pole: PoleSpan, parameters: Parameters) -> Finding:
    """Whether a run is a pole: several bars long, high, steep, straight, and not one jump."""
    bars = pole.tip - pole.base
    if bars < parameters.pole_bars_min:
        return failed(Rule.POLE_BARS, bars, parameters.pole_bars_min)
    price: Record = prices[pole.base]
    atr = price.atr
    if pole.height < parameters.pole_height_min * atr:
        return failed(Rule.POLE_HEIGHT, pole.height / atr, parameters.pole_height_min)
    if pole.height / bars < parameters.pole_speed_min * atr:
        return failed(Rule.POLE_SPEED, pole.height / bars / atr, parameters.pole_speed_min)
    moves = moves_of(prices, pole)
    step = max(moves.step, moves.bar / pole.height)
    if step > parameters.pole_step_max:
        return failed(Rule.POLE_STEP, step, parameters.pole_step_max)
    if moves.gap > parameters.pole_gap_max * pole.height:
        return failed(Rule.POLE_GAP, moves.gap / pole.height, parameters.pole_gap_max)
    if moves.straightness < parameters.pole_straightness_min:
        return failed(Rule.POLE_STRAIGHTNESS, moves.straightness, parameters.pole_straightness_min)
    return PASSED


@compiled
def moves_of(prices: Rows, pole: PoleSpan) -> PoleMoves:
    """Measure the bars of a pole after its base."""
    path = step = largest = gap = 0.0
    for bar in range(pole.base + 1, pole.tip + 1):
        price = prices[bar]
        move = abs(price.log_close[UPPER] - prices[bar - 1].log_close[UPPER])
        path += move
        step = max(step, move)
        largest = max(largest, price.extreme[UPPER] + price.extreme[LOWER])
        gap = max(gap, abs(price.gap))
    net = abs(prices[pole.tip].log_close[UPPER] - prices[pole.base].log_close[UPPER])
    return PoleMoves(step / max(net, 1e-12), largest, gap, net / max(path, 1e-12))


@compiled
def tested_squeeze(
    prices: Rows, side: int, pair: LinePair, pole: PoleSpan, bar: int, parameters: Parameters
) -> Finding:
    """Whether a pair is narrow compared with its pole, drifts little and retraces little of it."""
    if pair.width > parameters.pole_width_max * pole.height:
        return failed(Rule.POLE_WIDTH, pair.width / pole.height, parameters.pole_width_max)
    middle = 0.5 * (pair.upper_move + pair.lower_move)
    drift = middle if side == UPPER else -middle
    if drift < -parameters.drift_against_max:
        return failed(Rule.DRIFT, drift, -parameters.drift_against_max)
    if drift > parameters.drift_along_max:
        return failed(Rule.DRIFT, drift, parameters.drift_along_max)
    back = retracement(prices, side, pole, bar)
    if back > parameters.pole_retrace_max * pole.height:
        return failed(Rule.POLE_RETRACE, back / pole.height, parameters.pole_retrace_max)
    return PASSED


@compiled
def retracement(prices: Rows, side: int, pole: PoleSpan, bar: int) -> float:
    """The log distance that the bars since the tip of a pole have given back at most."""
    tip = prices[pole.tip].extreme[side]
    back = 0.0
    for later in range(pole.tip, bar + 1):
        back = max(back, tip + prices[later].extreme[1 - side])
    return back

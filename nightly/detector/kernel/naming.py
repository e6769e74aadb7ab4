"""Squeezes: a steep pole, then a small pattern that gives little of it back.

A pole is tested in the space of its side. There the tip is the highest extreme, so one piece of
code serves bullish and bearish squeezes (docs/detector.md section 4).
"""

from __future__ import annotations

from typing import NamedTuple

from nightly.events import PatternType, Rows, Rule
from nightly.kernel.compiler import compiled
from nightly.kernel.lines import Line
from nightly.kernel.naming import Naming, unnamed
from nightly.kernel.pairs import Pair
from nightly.kernel.prices import LOWER, UPPER, Price
from nightly.kernel.rules import PASSED, Finding, failed
from nightly.parameters import Parameters


class Pole(NamedTuple):
    """The run into a squeeze, from its base to its tip."""

    base: int  # bar
    tip: int  # bar; equal to the base if there is no run
    height: float  # log distance between the extremes of base and tip


@compiled
def name_squeeze(prices: Rows, lines: Rows, pair: Pair, bar: int, parameters: Parameters) -> Naming:
    """The squeeze that a pair is, by the pole that ends at its first touch, or the rule it fails.

    Where both lines start on one bar, the bullish reading is tried first.
    """
    finding = inward(pair, parameters)
    if finding.rule != Rule.NONE:
        return unnamed(finding)
    finding = failed(Rule.POLE_HEIGHT, 0.0, parameters.pole_height_min)
    for side in (UPPER, LOWER):
        if lines[side].start != pair.start:
            continue
        pole = pole_before(prices, side, pair.start, parameters)
        finding = tested_pole(prices, pole, parameters)
        if finding.rule == Rule.NONE:
            finding = tested_squeeze(prices, side, pair, pole, bar, parameters)
        if finding.rule == Rule.NONE:
            if side == UPPER:
                return Naming(
                    PASSED, PatternType.BULLISH_SQUEEZE.value, 1, pole.height, pole.height
                )
            return Naming(PASSED, PatternType.BEARISH_SQUEEZE.value, -1, pole.height, -pole.height)
    return unnamed(finding)


@compiled
def follows_pole(
    prices: Rows, upper: Line, lower: Line, pair: Pair, parameters: Parameters
) -> bool:
    """Whether a pole ends at the first touch of a pair."""
    for side in (UPPER, LOWER):
        start = upper.start if side == UPPER else lower.start
        if start == pair.start:
            pole = pole_before(prices, side, start, parameters)
            if tested_pole(prices, pole, parameters).rule == Rule.NONE:
                return True
    return False


@compiled
def inward(pair: Pair, parameters: Parameters) -> Finding:
    """Whether both lines move towards each other; if not, the shape is a flag or a wedge."""
    slower = min(-pair.upper_move, pair.lower_move)
    if slower < parameters.squeeze_slope_min:
        return failed(Rule.SLOPES, slower, parameters.squeeze_slope_min)
    return PASSED


@compiled
def pole_before(prices: Rows, side: int, tip: int, parameters: Parameters) -> Pole:
    """The run that ends at a tip, from the first bar with the lowest low before it.

    There is none if an earlier bar exceeds the tip.
    """
    base = tip
    for bar in range(max(tip - parameters.pole_bars, prices[tip].segment), tip):
        if prices[bar].extreme[side] > prices[tip].extreme[side]:
            return Pole(tip, tip, 0.0)
        if prices[bar].extreme[1 - side] > prices[base].extreme[1 - side]:
            base = bar
    return Pole(base, tip, prices[tip].extreme[side] + prices[base].extreme[1 - side])


@compiled
def tested_pole(prices: Rows, pole: Pole, parameters: Parameters) -> Finding:
    """Whether a run is a pole: several bars long, high, steep, straight, and not one jump."""
    bars = pole.tip - pole.base
    if bars < parameters.pole_bars_min:
        return failed(Rule.POLE_BARS, bars, parameters.pole_bars_min)
    price: Price = prices[pole.base]
    atr = price.atr
    if pole.height < parameters.pole_height_min * atr:
        return failed(Rule.POLE_HEIGHT, pole.height / atr, parameters.pole_height_min)
    if pole.height / bars < parameters.pole_speed_min * atr:
        return failed(Rule.POLE_SPEED, pole.height / bars / atr, parameters.pole_speed_min)
    step = largest_step(prices, pole)
    if step > parameters.pole_step_max:
        return failed(Rule.POLE_STEP, step, parameters.pole_step_max)
    gap = largest_gap_of(prices, pole)
    if gap > parameters.pole_gap_max * pole.height:
        return failed(Rule.POLE_GAP, gap / pole.height, parameters.pole_gap_max)
    straight = straightness(prices, pole)
    if straight < parameters.pole_straightness_min:
        return failed(Rule.POLE_STRAIGHTNESS, straight, parameters.pole_straightness_min)
    return PASSED


@compiled
def largest_step(prices: Rows, pole: Pole) -> float:
    """The largest move between two closes of a pole, as a share of the net move of its closes."""
    largest = 0.0
    for bar in range(pole.base + 1, pole.tip + 1):
        step = prices[bar].log_close[UPPER] - prices[bar - 1].log_close[UPPER]
        largest = max(largest, abs(step))
    net = prices[pole.tip].log_close[UPPER] - prices[pole.base].log_close[UPPER]
    return float(largest / max(abs(net), 1e-12))


@compiled
def largest_gap_of(prices: Rows, pole: Pole) -> float:
    """The largest log distance between a close of a pole and the next open."""
    largest = 0.0
    for bar in range(pole.base + 1, pole.tip + 1):
        largest = max(largest, abs(prices[bar].gap))
    return largest


@compiled
def straightness(prices: Rows, pole: Pole) -> float:
    """The net move of the closes of a pole as a share of the sum of all their moves."""
    path = 0.0
    for bar in range(pole.base + 1, pole.tip + 1):
        path += abs(prices[bar].log_close[UPPER] - prices[bar - 1].log_close[UPPER])
    net = prices[pole.tip].log_close[UPPER] - prices[pole.base].log_close[UPPER]
    return float(abs(net) / max(path, 1e-12))


@compiled
def tested_squeeze(
    prices: Rows, side: int, pair: Pair, pole: Pole, bar: int, parameters: Parameters
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
def retracement(prices: Rows, side: int, pole: Pole, bar: int) -> float:
    """The log distance that the bars since the tip of a pole have given back at most."""
    tip = prices[pole.tip].extreme[side]
    back = 0.0
    for later in range(pole.tip, bar + 1):
        back = max(back, tip + prices[later].extreme[1 - side])
    return back

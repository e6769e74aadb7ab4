"""Zigzag: price that bounces between two lines, with lead-in and aftermath, as daily bars.

It draws the planted patterns and the decoys that have lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from benchmarks.planted.series import INNER_STEP, Lines, Rng, Sketch, bridge, squeezed, wander
from nightly.bars import Bars, Floats

LEAD_IN = (90, 220)
AFTER = (60, 120)
FALSE_LEG = 0.12
"""Share of legs that turn before they reach the other line, and so touch nothing."""
SIDES = {True: 1, False: -1}


@dataclass(frozen=True, slots=True)
class Frame:
    """The proportions of a shape, in units of one ATR."""

    width: float
    """The width at the start."""
    upper_move: float
    """How far the upper line moves over the whole shape, in widths."""
    lower_move: float
    legs: int
    """The number of legs before the one that leaves the shape."""
    speed: float
    """Units per bar along a leg."""
    shortest_leg: int
    at_upper: bool
    """Whether the first touch is at the upper line."""

    def leg_bars(self, rng: Rng) -> list[int]:
        """The number of bars of each leg, in proportion to the width at that time."""
        closing = self.lower_move - self.upper_move
        bars = []
        for leg in range(self.legs + 1):
            width = self.width * (1 - closing * (leg + 0.5) / (self.legs + 1))
            usual = width / self.speed * float(np.exp(rng.normal(0, 0.25)))
            bars.append(max(self.shortest_leg, round(usual)))
        return bars

    def lines(self, length: int, unit: float) -> Lines:
        """The lines over `length` bars; the lower line starts at log price 0."""
        width = self.width * unit
        slopes = (move * width / length for move in (self.upper_move, self.lower_move))
        upper, lower = slopes
        return Lines(0, width, upper, 0.0, lower)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A drawn shape with its surroundings."""

    bars: Bars
    lines: Lines
    entered: int
    """The bar at which the approach begins."""
    end: int
    """The bar that leaves the shape."""
    unit: float
    later_start: int
    """The first touch of the line that is touched second."""


def draw(
    rng: Rng,
    frame: Frame,
    *,
    unit: float,
    noise: float,
    approach: Floats,
    leave: int,
    aftermath: Floats,
) -> Drawn:
    """Draw a shape that price enters along an approach and leaves upwards (+1) or downwards (-1).

    `approach` contains the closes up to the first touch, relative to it, oldest first. `aftermath`
    contains the closes after the breakout bar, relative to the broken line there. All in log price.
    """
    legs = frame.leg_bars(rng)
    length = sum(legs)
    lines = frame.lines(length, unit)
    turns = np.concatenate([[0], np.cumsum(legs)])
    inner, touches = _inner(rng, lines, turns, frame, unit, noise)
    leaving = _leaving(rng, lines, inner[-1], length, legs[-1], leave, unit)
    broken = float(lines.at(length)[leave < 0])
    close = np.concatenate([inner[0] + approach, inner, leaving, broken + aftermath])
    start = len(approach)
    before = np.cumsum(wander(rng, int(rng.integers(*LEAD_IN)), unit))
    after = close[-1] + np.cumsum(wander(rng, int(rng.integers(*AFTER)), unit))
    close = np.concatenate([before - before[-1] + close[0], close, after]) + rng.uniform(2, 6)
    start += len(before)
    shift = close[start] - inner[0]
    placed = lines.moved(start, float(shift))
    sketch = Sketch.along(rng, close, unit)
    sketch.hold(rng, slice(start, start + length), placed, noise)
    for bar, level, at_upper in touches:
        sketch.pin(start + bar, level + shift, at_upper=at_upper)
    later = next(bar for bar, _, at_upper in touches if at_upper != touches[0][2])
    return Drawn(sketch.bars(), placed, start - len(approach), start + length, unit, start + later)


def _inner(
    rng: Rng, lines: Lines, turns: Floats, frame: Frame, unit: float, noise: float
) -> tuple[Floats, list[tuple[int, float, bool]]]:
    """Closes from the first touch to the last, and the touches: bar, level and side."""
    touches, knots = [], []
    at_upper = frame.at_upper
    for leg, bar in enumerate(turns[:-1].astype(int)):
        upper, lower = (float(line) for line in lines.at(bar))
        level = upper if at_upper else lower
        inward = -SIDES[at_upper]
        room = upper - lower
        inside = min(unit * rng.uniform(0.1, 0.5), 0.3 * room)
        # The first touches of both lines and the last one always reach their line.
        if 1 < leg < len(turns) - 2 and rng.random() < FALSE_LEG:
            inside = room * rng.uniform(0.2, 0.4)
        else:
            off = float(np.clip(rng.normal(0, noise), -2 * noise, 2 * noise)) * unit
            touches.append((bar, level + off, at_upper))
        knots.append((bar, level + inward * inside))
        at_upper = not at_upper
    parts = [np.array([knots[0][1]])]
    for (bar, level), (later, following) in pairwise(knots):
        parts.append(bridge(rng, level, following, later - bar, INNER_STEP * unit))
    close = np.concatenate(parts)
    bounds = lines.at(np.arange(len(close), dtype=float))
    return squeezed(rng, close, *bounds, unit), touches


def _leaving(
    rng: Rng, lines: Lines, last: float, length: int, bars: int, leave: int, unit: float
) -> Floats:
    """Closes after the last touch; only the last of them lies beyond a line."""
    beyond = leave * unit * rng.uniform(0.4, 1.4)
    target = float(lines.at(length)[leave < 0]) + beyond
    close = bridge(rng, last, target, bars, INNER_STEP * unit)
    upper, lower = lines.at(np.arange(length - bars + 1, length, dtype=float))
    close[:-1] = squeezed(rng, close[:-1], upper, lower, unit)
    return close

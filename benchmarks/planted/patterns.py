"""Patterns: series with exactly one planted pattern of known lines, breakout bar and outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.planted.series import INNER_STEP, Lines, Rng, bridge
from benchmarks.planted.zigzag import Drawn, Frame, draw
from nightly.bars import Bars, Floats
from nightly.events import Outcome
from store.wire.families import Family

NOISES = (0.1, 0.2, 0.3)
"""Standard deviations of touches from their line, in ATR."""
STOP_APART = 1.5
"""The minimum distance in ATR from the broken line to the stop, as in a trade plan."""
REDRAWS = 50


@dataclass(frozen=True, slots=True)
class Plant:
    """A planted pattern and its true geometry and outcome."""

    kind: str
    family: Family
    noise: float
    bars: Bars
    lines: Lines
    start: int
    end: int
    """The breakout bar."""
    unit: float
    direction: int
    """The direction of the breakout."""
    outcome: Outcome | None
    """How its trade ends; None if the generator does not say."""


@dataclass(frozen=True, slots=True)
class Sort:
    """One type of pattern: its family, its breakout directions, and a function for its frame."""

    family: Family
    directions: tuple[int, ...]
    frame: Callable[[Rng, int], Frame]
    """Makes the frame for a direction of the breakout."""


def wedge(rng: Rng, rising: int) -> Frame:
    """Both lines move in one direction and converge; price breaks out in the other direction."""
    closing = rng.uniform(0.5, 0.8)
    slower = rng.uniform(0.3, 0.9)
    moves = (slower, slower + closing) if rising > 0 else (-slower - closing, -slower)
    return _long_frame(rng, moves, leave=-rising, legs=int(rng.integers(5, 8)))


def triangle(rng: Rng, moves: tuple[float, float], leave: int) -> Frame:
    """Lines that converge by the given moves."""
    return _long_frame(rng, moves, leave=leave, legs=int(rng.integers(5, 8)))


def symmetrical(rng: Rng, leave: int) -> Frame:
    """Both lines move inward."""
    closing = rng.uniform(0.5, 0.8)
    share = rng.uniform(0.35, 0.65)
    return triangle(rng, (-share * closing, (1 - share) * closing), leave)


def one_sided(rng: Rng, leave: int) -> Frame:
    """A flat line that is broken, and a line that converges with it."""
    closing = rng.uniform(0.5, 0.8)
    flat = rng.uniform(-0.06, 0.06)
    moves = (flat, flat + closing) if leave > 0 else (-flat - closing, -flat)
    return triangle(rng, moves, leave)


def pennant(rng: Rng, leave: int) -> Frame:
    """A small triangle that retraces a little of its pole."""
    closing = rng.uniform(0.5, 0.8)
    middle = -leave * rng.uniform(0.0, 0.4)
    return Frame(
        width=rng.uniform(2.5, 4.5),
        upper_move=middle - closing / 2,
        lower_move=middle + closing / 2,
        legs=int(rng.integers(4, 6)),
        speed=rng.uniform(0.8, 1.2),
        shortest_leg=2,
        at_upper=leave > 0,
    )


def _long_frame(rng: Rng, moves: tuple[float, float], *, leave: int, legs: int) -> Frame:
    # The last touch is on the side opposite to the breakout.
    at_upper = (leave < 0) == (legs % 2 == 1)
    return Frame(
        width=rng.uniform(5.5, 12),
        upper_move=moves[0],
        lower_move=moves[1],
        legs=legs,
        speed=rng.uniform(0.4, 0.9),
        shortest_leg=3,
        at_upper=at_upper,
    )


SORTS = {
    "rising wedge": Sort(Family.RISING_WEDGE, (-1,), lambda rng, _: wedge(rng, 1)),
    "falling wedge": Sort(Family.FALLING_WEDGE, (1,), lambda rng, _: wedge(rng, -1)),
    "symmetrical triangle": Sort(Family.TRIANGLE, (1, -1), symmetrical),
    "ascending triangle": Sort(Family.TRIANGLE, (1,), one_sided),
    "descending triangle": Sort(Family.TRIANGLE, (-1,), one_sided),
    "bullish pennant": Sort(Family.BULLISH_PENNANT, (1,), pennant),
    "bearish pennant": Sort(Family.BEARISH_PENNANT, (-1,), pennant),
}


def plant(rng: Rng, kind: str, noise: float) -> Plant:
    """Plant a pattern; it is redrawn in the rare case that its trade stays open."""
    sort = SORTS[kind]
    for _ in range(REDRAWS):
        leave = int(rng.choice(sort.directions))
        pole = rng.uniform(7, 13) if "pennant" in kind else 0.0
        drawn, outcome = _drawn(rng, sort.frame(rng, leave), noise, leave, pole)
        if outcome != Outcome.OPEN:
            start = drawn.lines.start
            return Plant(
                kind,
                sort.family,
                noise,
                drawn.bars,
                drawn.lines,
                start,
                drawn.end,
                drawn.unit,
                leave,
                outcome,
            )
    raise AssertionError(f"no {kind} could be drawn")


def _drawn(rng: Rng, frame: Frame, noise: float, leave: int, pole: float) -> tuple[Drawn, Outcome]:
    unit = float(np.exp(rng.uniform(np.log(0.008), np.log(0.04))))
    closing = frame.lower_move - frame.upper_move
    # Approximately the width where the second line starts.
    height = pole or frame.width * (1 - closing / (frame.legs + 1))
    left = frame.width * (1 - closing)
    drawn = draw(
        rng,
        frame,
        unit=unit,
        noise=noise,
        approach=run_up(rng, frame, pole, unit),
        leave=leave,
        aftermath=leave * _aftermath(rng, height, max(left, STOP_APART), unit),
    )
    return drawn, resolved(drawn, leave, is_pennant=bool(pole))


def run_up(rng: Rng, frame: Frame, pole: float, unit: float) -> Floats:
    """Closes of the move into a shape, relative to its first touch."""
    if pole:
        size, bars = pole, int(rng.integers(3, 10))
    else:
        size, bars = frame.width * rng.uniform(0.5, 1.6), int(rng.integers(8, 26))
    from_below = -1 if frame.at_upper else 1
    path = bridge(rng, from_below * size * unit, 0.0, bars + 1, INNER_STEP * unit)
    closes: Floats = path[:-1]
    return closes


def _aftermath(rng: Rng, height: float, risk: float, unit: float) -> Floats:
    """Closes on the way to the target or back through the stop, positive along the breakout."""
    aim = height + 2.0 if rng.random() < 0.5 else -risk - 1.0
    bars = max(3, round(abs(aim) / rng.uniform(0.35, 0.9)))
    return bridge(rng, 0.6 * unit, aim * unit, bars, INNER_STEP * unit)


def pole_of(drawn: Drawn, leave: int) -> float:
    """The log distance from the far end of the pole to its tip, wicks included."""
    tip = drawn.lines.start
    pole = slice(drawn.entered, tip + 1)
    high, low = np.log(drawn.bars.high[pole]), np.log(drawn.bars.low[pole])
    return float(high[-1] - low.min() if leave > 0 else high.max() - low[-1])


def resolved(drawn: Drawn, leave: int, *, is_pennant: bool) -> Outcome:
    """The outcome of a trade at the true lines' levels: stop first, from the next bar on."""
    upper, lower = (float(line) for line in drawn.lines.at(drawn.end))
    wide, narrow = (float(line) for line in drawn.lines.at(drawn.later_start))
    broken, opposite = (upper, lower) if leave > 0 else (lower, upper)
    height = pole_of(drawn, leave) if is_pennant else wide - narrow
    risk = max(abs(broken - opposite), STOP_APART * drawn.unit)
    high, low = np.log(drawn.bars.high), np.log(drawn.bars.low)
    after = slice(drawn.end + 1, None)
    against, along = (low, high) if leave > 0 else (-high, -low)
    stopped = np.flatnonzero(against[after] <= leave * broken - risk)
    reached = np.flatnonzero(along[after] >= leave * broken + height)
    if not len(stopped) and not len(reached):
        return Outcome.OPEN
    first_stop = stopped[0] if len(stopped) else len(high)
    first_target = reached[0] if len(reached) else len(high)
    return Outcome.WIN if first_target < first_stop else Outcome.LOSS

"""Series with a shape that resembles a converging pattern at a glance and is none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from research.planted.carving import (
    CarvedShape,
    Lines,
    Turn,
    band,
    carve,
    touch,
    turn_bars,
    wander,
)
from research.planted.prices import (
    RANGE_OF_VOLATILITY,
    Rng,
    bridge,
    daily_volatility,
    to_bars,
)
from screener.nightly.bars import Bars

BARS = (25, 90)  # of every decoy but the flag: what wedges and triangles last
PACE = (0.35, 0.8)  # mean true ranges a bar that the legs cover on average
ROUGH = 0.9  # volatility of closes around a leg, as a share of the market's


@dataclass(frozen=True, slots=True, eq=False)
class Decoy:
    """A series with a shape that is no pattern, in the bars from `start` to `end`."""

    kind: str
    bars: Bars
    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Sketch:
    """A shape, and the signed log move and the number of bars of the run to its first turn."""

    shape: CarvedShape
    run: float
    run_bars: int
    pole: bool = False


def _length(rng: Rng) -> int:
    """A random number of bars."""
    return int(rng.integers(BARS[0], BARS[1] + 1))


def _sign(rng: Rng) -> int:
    """+1 or -1, as likely."""
    return int(rng.choice((-1, 1)))


def _led(rng: Rng, shape: CarvedShape, height: float, unit: float, side: int) -> Sketch:
    """The shape after an ordinary trend toward its first turn."""
    run = height * rng.uniform(0.5, 1.5)
    return Sketch(shape, side * run, round(run / unit / rng.uniform(0.25, 0.5)))


def _between(
    rng: Rng, lines: Lines, bars: int, first: int, miss: float, weights: Sequence[float]
) -> CarvedShape:
    """Price that runs between two lines, with alternating contacts as far apart as the weights."""
    when = turn_bars(rng, np.array(weights), bars, 2)
    turns = touch(rng, lines, when, first, miss)
    bottom, top = band(lines, turns, bars)
    last = float(bottom[-1] + rng.uniform(0.3, 0.7) * (top[-1] - bottom[-1]))
    return CarvedShape(tuple(turns), top, bottom, np.full(bars, 0.9), ROUGH, last)


def _two_lines(
    rng: Rng, unit: float, noise: float, tilt: tuple[float, float], end_width: float
) -> Sketch:
    """A shape between two lines that move by some heights, either way, and end at a width."""
    bars, legs, first = _length(rng), int(rng.integers(5, 8)), _sign(rng)
    weights = np.linspace(1, end_width, legs)
    height = float(np.clip(bars * rng.uniform(*PACE) / weights.sum(), 3, 14)) * unit
    move = _sign(rng) * rng.uniform(*tilt) * height / bars
    spread = (end_width - 1) * height / bars / 2
    lines = Lines(0, 0.0, move + spread, -height, move - spread)
    shape = _between(rng, lines, bars, first, noise * unit, list(weights))
    return _led(rng, shape, height, unit, first)


def _flag(rng: Rng, unit: float, noise: float) -> Sketch:
    """A pole, then a small parallel channel that leans against it."""
    side, bars = _sign(rng), int(rng.integers(9, 19))
    height, pole = rng.uniform(2.2, 3.5) * unit, rng.uniform(8, 13) * unit
    slope = -side * rng.uniform(0.2, 0.8) * height / bars
    upper = 0.0 if side > 0 else height
    lines = Lines(0, upper, slope, upper - height, slope)
    shape = _between(rng, lines, bars, side, noise * unit, [1.0] * 4)
    return Sketch(shape, side * pole, round(pole / unit / rng.uniform(1.1, 1.8)), pole=True)


def _free(rng: Rng, unit: float, noise: float, levels: Sequence[float], lead: int) -> Sketch:
    """Price that runs free through levels, given in heights, or through their mirror image.

    The last level is its end and `lead` the sign of the run to the first. The height makes the
    legs as fast as a market's.
    """
    bars, side, legs = _length(rng), _sign(rng), np.abs(np.diff(levels))
    height = float(np.clip(bars * rng.uniform(*PACE) / legs.sum(), 4, 14)) * unit
    when = turn_bars(rng, np.sqrt(legs), bars, 2)
    prices = side * height * np.array(levels) + rng.normal(0, noise * unit, len(levels))
    pins = zip(when, prices[:-1], strict=True)
    turns = tuple(Turn(int(bar), 0, float(price), False) for bar, price in pins)
    free = np.full(bars, np.inf)
    shape = CarvedShape(turns, free, -free, np.full(bars, 0.9), ROUGH, float(prices[-1]))
    return _led(rng, shape, height, unit, side * lead)


def _staircase(rng: Rng, unit: float, noise: float) -> Sketch:
    """A steep trend whose pullbacks give back a small part of each step."""
    levels = [0.0]
    for _ in range(int(rng.integers(3, 5))):
        levels += [levels[-1] + 1, levels[-1] + 1 - rng.uniform(0.2, 0.4)]
    return _free(rng, unit, noise, levels, 1)


def _sharp_turn(rng: Rng, unit: float, noise: float) -> Sketch:
    """A V, or its mirror image."""
    return _free(rng, unit, noise, [0, -1, rng.uniform(-0.2, 0.1)], 1)


def _rounded_turn(rng: Rng, unit: float, noise: float) -> Sketch:
    """A saucer, or its mirror image."""
    return _free(rng, unit, noise, [0, -0.6, -0.9, -1, -0.9, -0.6, 0], -1)


def _head_and_shoulders(rng: Rng, unit: float, noise: float) -> Sketch:
    """Two shoulders and a higher head on a level neck, or its mirror image."""
    neck, head = rng.uniform(-0.7, -0.5), rng.uniform(0.5, 0.8)
    return _free(rng, unit, noise, [0, neck, head, neck, 0, neck * 0.8], 1)


def _empty_side(rng: Rng, unit: float, noise: float) -> Sketch:
    """Converging lines, where price keeps to one of them and leaves the other side empty."""
    levels = [0.0, -1.0]
    for share in (0.15, 0.3, 0.45):
        top = -share
        levels += [top, top - rng.uniform(0.25, 0.35) * (1 - share)]
    return _free(rng, unit, noise, levels, 1)


def _fading(rng: Rng, unit: float, noise: float) -> Sketch:
    """Volatility that dies away, on a path that swings between no lines."""
    bars = _length(rng)
    calm = np.geomspace(1.0, rng.uniform(0.15, 0.3), bars)
    free = np.full(bars, np.inf)
    drift = rng.normal(0, 0.5 + noise) * unit
    shape = CarvedShape((Turn(0, 0, 0.0, False),), free, -free, calm, 1.0, drift)
    return _led(rng, shape, rng.uniform(3, 8) * unit, unit, _sign(rng))


def _drawn(
    kind: str, sketch: Callable[[Rng, float, float], Sketch], rng: Rng, noise: float
) -> Decoy:
    """The series of a sketch: a lead-in, the run to the first turn, the shape, an aftermath."""
    volatility = daily_volatility(rng)
    unit = volatility * RANGE_OF_VOLATILITY
    made = sketch(rng, unit, noise)
    rough = volatility * (0.75 if made.pole else 1.0)
    run = np.diff(bridge(rng, np.full(made.run_bars, rough), made.run), prepend=0.0)
    lead = np.concatenate([wander(rng, int(rng.integers(90, 200)), volatility), run])
    after = wander(rng, int(rng.integers(60, 121)), volatility)
    drawn = carve(rng, made.shape, lead, after, unit)
    bars = len(made.shape.calm)
    series = to_bars(rng, drawn.candles, drawn.busy)
    return Decoy(kind, series, drawn.start, drawn.start + bars - 1)


SKETCHES: dict[str, Callable[[Rng, float, float], Sketch]] = {
    "channel": partial(_two_lines, tilt=(0.7, 1.8), end_width=1.0),
    "rectangle": partial(_two_lines, tilt=(0.0, 0.05), end_width=1.0),
    "broadening": partial(_two_lines, tilt=(0.0, 0.4), end_width=2.2),
    "flag": _flag,
    "staircase": _staircase,
    "sharp turn": _sharp_turn,
    "rounded turn": _rounded_turn,
    "head and shoulders": _head_and_shoulders,
    "empty side": _empty_side,
    "fading": _fading,
}
DECOYS: dict[str, Callable[[Rng, float], Decoy]] = {
    name: partial(_drawn, name, sketch) for name, sketch in SKETCHES.items()
}

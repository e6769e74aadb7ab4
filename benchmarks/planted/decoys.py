"""Decoys: shapes that only look like a pattern, each with its span."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks.planted.patterns import run_up
from benchmarks.planted.series import STEP, Rng, Sketch, bridge, wander
from benchmarks.planted.zigzag import AFTER, LEAD_IN, Frame, draw
from nightly.bars import Bars, Floats


@dataclass(frozen=True, slots=True)
class Decoy:
    """Bars without a pattern, and the span where a detector might see one."""

    kind: str
    bars: Bars
    start: int
    end: int
    unit: float


def unit_of(rng: Rng) -> float:
    """One ATR in log price: 0.8 to 4%."""
    return float(np.exp(rng.uniform(np.log(0.008), np.log(0.04))))


def between_lines(rng: Rng, kind: str, noise: float, moves: tuple[float, float]) -> Decoy:
    """Price that bounces between lines that do not converge."""
    unit, leave = unit_of(rng), int(rng.choice((1, -1)))
    frame = Frame(
        width=rng.uniform(4.5, 10),
        upper_move=moves[0],
        lower_move=moves[1],
        legs=int(rng.integers(5, 8)),
        speed=rng.uniform(0.4, 0.9),
        shortest_leg=3,
        at_upper=bool(rng.random() < 0.5),
    )
    drawn = draw(
        rng,
        frame,
        unit=unit,
        noise=noise,
        approach=run_up(rng, frame, 0.0, unit),
        leave=leave,
        aftermath=leave * np.cumsum(np.abs(wander(rng, 8, unit))),
    )
    return Decoy(kind, drawn.bars, drawn.lines.start, drawn.end, unit)


def channel(rng: Rng, noise: float) -> Decoy:
    """Parallel lines that rise or fall."""
    move = float(rng.choice((-1, 1)) * rng.uniform(0.4, 1.6))
    return between_lines(rng, "parallel channel", noise, (move, move))


def rectangle(rng: Rng, noise: float) -> Decoy:
    """Flat parallel lines."""
    move = float(rng.uniform(-0.08, 0.08))
    return between_lines(rng, "rectangle", noise, (move, move))


def broadening(rng: Rng, noise: float) -> Decoy:
    """Lines that move apart."""
    opening, share = rng.uniform(0.5, 1.2), rng.uniform(0, 1)
    return between_lines(rng, "broadening", noise, (share * opening, -(1 - share) * opening))


def trend(rng: Rng, noise: float) -> Decoy:
    """A steep run whose pullbacks never cross it."""
    unit, bars = unit_of(rng), int(rng.integers(40, 100))
    pace = float(rng.choice((-1, 1)) * rng.uniform(0.15, 0.4))
    return _along(rng, "steep trend", unit, _run(rng, pace, bars, unit, noise))


def reversal(rng: Rng, noise: float) -> Decoy:
    """A run that reverses at one point."""
    unit = unit_of(rng)
    sign = float(rng.choice((-1, 1)))
    first = _run(rng, sign * rng.uniform(0.25, 0.7), int(rng.integers(12, 40)), unit, noise)
    back = _run(rng, -sign * rng.uniform(0.25, 0.7), int(rng.integers(12, 40)), unit, noise)
    return _along(rng, "V reversal", unit, np.concatenate([first, first[-1] + back]))


def no_pole(rng: Rng, noise: float) -> Decoy:
    """A small squeeze at the end of a move too slow and too small to be a pole."""
    unit, leave = unit_of(rng), int(rng.choice((1, -1)))
    closing = rng.uniform(0.5, 0.8)
    middle = -leave * rng.uniform(0.0, 0.4)
    frame = Frame(
        width=rng.uniform(2.5, 4.5),
        upper_move=middle - closing / 2,
        lower_move=middle + closing / 2,
        legs=int(rng.integers(4, 6)),
        speed=rng.uniform(0.8, 1.2),
        shortest_leg=2,
        at_upper=leave > 0,
    )
    size = rng.uniform(5.0, 7.5)
    bars = round(size / rng.uniform(0.35, 0.6))
    drawn = draw(
        rng,
        frame,
        unit=unit,
        noise=noise,
        approach=bridge(rng, -leave * size * unit, 0.0, bars + 1, STEP * unit)[:-1],
        leave=leave,
        aftermath=leave * np.cumsum(np.abs(wander(rng, 8, unit))),
    )
    return Decoy("squeeze without a pole", drawn.bars, drawn.lines.start, drawn.end, unit)


def _run(rng: Rng, pace: float, bars: int, unit: float, noise: float) -> Floats:
    """Closes of a run whose pullbacks come back to it within days."""
    closes = bridge(rng, 0.0, pace * bars * unit, bars, STEP * unit)
    return closes + rng.normal(0, noise * unit, bars)


def _along(rng: Rng, kind: str, unit: float, run: Floats) -> Decoy:
    before = np.cumsum(wander(rng, int(rng.integers(*LEAD_IN)), unit))
    after = np.cumsum(wander(rng, int(rng.integers(*AFTER)), unit))
    close = np.concatenate([before, before[-1] + run])
    close = np.concatenate([close, close[-1] + after]) + rng.uniform(2, 6)
    start = len(before)
    bars = Sketch.along(rng, close, unit).bars()
    return Decoy(kind, bars, start, start + len(run) - 1, unit)


DECOYS: dict[str, Callable[[Rng, float], Decoy]] = {
    "parallel channel": channel,
    "rectangle": rectangle,
    "broadening": broadening,
    "steep trend": trend,
    "V reversal": reversal,
    "squeeze without a pole": no_pole,
}

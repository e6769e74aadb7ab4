"""Judgement: the weights of the score, learned from charts that readers rated blind.

The score of a drawing is the chance in percent that two readers both accept it: a logistic
regression on the numbers of its shape. docs/detector.md section 5 says what each number measures
and how the weights came about; `python -m research.chartist fit` learns them anew from the
ratings that are kept.
"""

from __future__ import annotations

from typing import NamedTuple

from nightly.detector.events import PatternType


class Weight(NamedTuple):
    """How a number counts: clipped to a range, then by so many log-odds per unit."""

    low: float
    high: float
    each: float


UNUSED = Weight(0.0, 0.0, 0.0)


class ScorePart(NamedTuple):
    """One number of a shape: its weights on both scales, and why it counts."""

    name: str
    long: Weight
    squeeze: Weight
    reason: str


# In the order of the fields of `kernel.shape.Shape`.
PARTS = (
    ScorePart(
        "white",
        Weight(0.0, 0.3, -18.783),
        Weight(0.0, 0.4, -1.831),
        "a line that price does not come near hangs in the air",
    ),
    ScorePart(
        "lean",
        Weight(0.0, 0.25, -6.426),
        UNUSED,
        "price that keeps to one line leaves the other one empty",
    ),
    ScorePart(
        "offset",
        Weight(0.0, 0.4, -3.653),
        UNUSED,
        "both lines begin in the same consolidation",
    ),
    ScorePart(
        "contacts",
        Weight(2.0, 4.0, 0.52),
        UNUSED,
        "a line that rests on two points is one of many",
    ),
    ScorePart("length", Weight(15.0, 80.0, 0.002), UNUSED, "the shortest shapes are noise"),
    ScorePart(
        "largest_bar",
        Weight(0.1, 0.8, -4.379),
        Weight(0.2, 0.9, -1.208),
        "one bar must not make the shape",
    ),
    ScorePart("largest_gap", Weight(0.0, 0.5, -2.09), UNUSED, "one gap must not make the shape"),
    ScorePart(
        "outside",
        Weight(0.0, 0.2, -10.116),
        Weight(0.0, 0.3, -4.52),
        "lines must not cut through prices",
    ),
    ScorePart(
        "run_in",
        Weight(0.5, 3.0, 0.932),
        Weight(1.0, 4.0, 0.731),
        "a pattern is small against the move that it interrupts",
    ),
    ScorePart(
        "directness",
        Weight(0.4, 0.8, 1.476),
        UNUSED,
        "price crosses from line to line instead of wandering",
    ),
    ScorePart(
        "inward",
        Weight(0.0, 0.4, 2.706),
        Weight(0.0, 0.5, 3.787),
        "if a line is nearly flat, the shape has another name",
    ),
    ScorePart("pole_height", UNUSED, Weight(2.0, 14.0, 0.038), "a pole stands out"),
    ScorePart(
        "pole_width",
        UNUSED,
        Weight(0.2, 0.8, -3.394),
        "a pennant is small against its pole",
    ),
    ScorePart(
        "pole_step", UNUSED, Weight(0.2, 0.8, -2.287), "a pole is several bars, not one jump"
    ),
    ScorePart("pole_gap", UNUSED, Weight(0.0, 0.4, -4.45), "a pole is several bars, not one gap"),
    ScorePart(
        "pole_straightness", UNUSED, Weight(0.4, 1.0, 1.107), "price hardly steps back on a pole"
    ),
)

# The log-odds of each type before any number counts.
BASES = {
    PatternType.RISING_WEDGE: 1.763,
    PatternType.FALLING_WEDGE: 1.487,
    PatternType.SYMMETRICAL_TRIANGLE: 1.065,
    PatternType.ASCENDING_TRIANGLE: 1.792,
    PatternType.DESCENDING_TRIANGLE: 1.569,
    PatternType.BULLISH_SQUEEZE: 0.106,
    PatternType.BEARISH_SQUEEZE: -0.762,
}

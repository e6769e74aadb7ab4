"""Parts: the numbers of a shape as the score may use them, and why each counts."""

from __future__ import annotations

from typing import NamedTuple

UNUSED = 2
"""The sign of a number that does not count."""


class ScorePart(NamedTuple):
    """One number of a shape, and what more of it can do to the score of either kind.

    +1: it only helps; -1: it only hurts; 0: it may do both. The reason says why it counts.
    """

    name: str
    long: int
    squeeze: int
    reason: str


# In the order of the fields of `Shape`.
PARTS = (
    ScorePart("white", -1, -1, "a line that price does not come near hangs in the air"),
    ScorePart("white_other", -1, -1, "nor does a shape without price at either line hold"),
    ScorePart("lean", -1, 0, "price that keeps to one line leaves the other one empty"),
    ScorePart("offset", -1, 0, "both lines begin in the same consolidation"),
    ScorePart("contacts", 1, 1, "a line that rests on two points is one of many"),
    ScorePart("length", 0, 0, "the shortest shapes are noise"),
    ScorePart("largest_bar", -1, -1, "one bar must not make the shape"),
    ScorePart("largest_gap", -1, -1, "one gap must not make the shape"),
    ScorePart("outside", -1, -1, "lines must not cut through prices"),
    ScorePart("run_in", 0, 0, "a pattern is small against the move that it interrupts"),
    ScorePart("directness", 1, 0, "price crosses from line to line instead of wandering"),
    ScorePart("inward", 0, 0, "its sign and size tell wedges from triangles"),
    ScorePart("convergence", 0, 0, "with less it is a channel, with more it is over"),
    ScorePart("steepness", 0, 0, "a steep line is a run"),
    ScorePart("height", 0, 0, "a low shape is noise"),
    ScorePart("touches", 1, 1, "lines with more touches are seen by more people"),
    ScorePart("crossings", 1, 1, "price goes from line to line"),
    ScorePart("touch_gap", -1, 0, "a line untouched for long is forgotten"),
    ScorePart("reach", 1, 1, "touches close together say little about a slope"),
    ScorePart("residual", -1, -1, "a line goes through its touches"),
    ScorePart("middle", 1, 1, "price fills the space between the lines"),
    ScorePart("bar_size", -1, -1, "bars as wide as the shape hide it"),
    ScorePart("place", 0, 0, "price that has left is not in the pattern"),
    ScorePart("pole_height", UNUSED, 0, "a pole stands out"),
    ScorePart("pole_width", UNUSED, -1, "a pennant is small against its pole"),
    ScorePart("pole_step", UNUSED, -1, "a pole is several bars, not one jump"),
    ScorePart("pole_gap", UNUSED, -1, "a pole is several bars, not one gap"),
    ScorePart("pole_straightness", UNUSED, 1, "price hardly steps back on a pole"),
    ScorePart("pole_bars", UNUSED, 0, "a pole is several bars"),
    ScorePart("pole_bar", UNUSED, -1, "no single bar makes the pole"),
    ScorePart("pole_retrace", UNUSED, -1, "a pennant gives little of its pole back"),
    ScorePart("drift", UNUSED, 0, "a flag goes against its pole, a pennant does not"),
    ScorePart("narrowing", 0, UNUSED, "what touches saw of the convergence tells it from chance"),
    ScorePart("turning", 0, UNUSED, "the same of the line that turns inward least"),
    ScorePart("other_move", 0, UNUSED, "a channel that is called a wedge has it small"),
    ScorePart("balance", 0, UNUSED, "tells triangles from wedges"),
    ScorePart("scatter", 0, UNUSED, "touches off their lines hide a low shape more"),
    ScorePart("middle_share", 0, UNUSED, "a long shape needs more crossings to be filled"),
    ScorePart("crossing_share", 0, UNUSED, "so it does of those from line to line"),
    ScorePart("recency", 0, 0, "a line that price has not met for long is forgotten"),
    ScorePart("newest", 0, 0, "price has just turned, or has done nothing since"),
    ScorePart("one_side", -1, -1, "price that hangs at one line makes a bowl, not a pattern"),
    ScorePart("wick", 0, 0, "a line that rests on single wicks is not drawn"),
    ScorePart("visits", 1, UNUSED, "a line that price meets again and again is seen"),
    ScorePart("visits_other", 1, UNUSED, "so is the other one"),
    ScorePart("width_left", 0, UNUSED, "lines that have just begun to close in, or met"),
    ScorePart("before", 0, UNUSED, "a line that cuts the bars before it begins nowhere"),
)

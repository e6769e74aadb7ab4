"""Renumber: kept ratings get the numbers that they lack, once the judgement has new ones.

A rating is kept without prices, but its two lines follow from the numbers that it has: their slopes
from `inward` and `convergence`, the width from `height`, the level from `place`. Which line turns
inward least and which one price is nearer to is not kept, so four pairs of lines are tried, and the
one counts whose numbers are those of the rating.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

from research.chartist.charts import Chart, DrawnLine, bar_of, shape_of
from research.chartist.ratings import Rating
from screener.nightly.bars import Bars
from screener.nightly.detector.detector import log_atrs

Shape = Mapping[str, float]

NEAR = 0.03
"""The share by which a number may differ from the kept one, for the lines to be the same."""
LEAST = 0.01
"""The value below which a difference is not counted as a share of it."""
WHOLE = ("touches", "contacts", "crossings")
TRACED = ("inward", "convergence", "height", "place", "steepness", "lean", "white", "bar_size")
"""The numbers that tell one pair of lines from another."""


def renumbered(rating: Rating, bars: Bars) -> Rating:
    """A rating with all the numbers that the judgement weighs, those that it has as they were kept;
    without any if its lines cannot be told from these.
    """
    kept = rating.shape
    if kept is None:
        return rating
    shapes = [shape for chart in drawn(rating, kept, bars) if (shape := shape_of(chart))]
    best = min(shapes, key=lambda shape: difference(shape, kept), default=None)
    if best is None or difference(best, kept) > NEAR:
        return replace(rating, shape=None)
    return replace(rating, shape={name: kept.get(name, value) for name, value in best.items()})


def drawn(rating: Rating, kept: Shape, bars: Bars) -> Iterator[Chart]:
    """The charts that a rating may be of; none if the bars lack one of its days."""
    days = (rating.upper_start, rating.lower_start, rating.last)
    upper, lower, last = (bar_of(bars, day) if day else None for day in days)
    if upper is None or lower is None or last is None:
        return
    length = last - min(upper, lower)
    atr = log_atrs(bars)
    later = kept["height"] * 0.5 * (atr[max(upper, lower)] + atr[last])
    width = later / (1.0 - kept["convergence"] * abs(upper - lower) / length)
    today = width * (1.0 - kept["convergence"])
    moves = kept["inward"], kept["convergence"] - kept["inward"]
    for down, up in (moves, moves[::-1]):
        for nearer in (kept["place"] * today, (1.0 - kept["place"]) * today):
            top = math.log(bars.close[last]) + nearer
            falls, rises = -down * width / length, up * width / length
            lines = (
                DrawnLine(upper, top - falls * (last - upper), falls),
                DrawnLine(lower, top - today - rises * (last - lower), rises),
            )
            yield Chart(rating.by, rating.symbol or "", rating.kind, bars, *lines, last)


def difference(shape: Shape, kept: Shape) -> float:
    """By how much the numbers of a drawing differ from those of a rating: the largest share, and
    the counts that are not the same.
    """
    apart = max(
        abs(shape[name] - kept[name]) / max(LEAST, abs(kept[name]))
        for name in TRACED
        if name in kept
    )
    return apart + sum(shape[name] != kept[name] for name in WHOLE if name in kept)

"""Shapes: the numbers that the detector's judgement weighs, for the lines of any chart.

They are ratios and counts, from which no price can be told, so they may be kept with the ratings.
"""

from __future__ import annotations

import numpy as np

from benchmarks.chartist.charts import Chart
from nightly.detector import shape_at
from nightly.events import VERSION, PatternType, Rows, Scale

TYPES: dict[str, PatternType] = {
    "rising wedge": PatternType.RISING_WEDGE,
    "falling wedge": PatternType.FALLING_WEDGE,
    "symmetrical triangle": PatternType.SYMMETRICAL_TRIANGLE,
    "ascending triangle": PatternType.ASCENDING_TRIANGLE,
    "descending triangle": PatternType.DESCENDING_TRIANGLE,
    "bullish pennant": PatternType.BULLISH_SQUEEZE,
    "bearish pennant": PatternType.BEARISH_SQUEEZE,
}
SQUEEZES = ("bullish pennant", "bearish pennant")
BEFORE = 200
"""Bars before a pattern that its shape can depend on: those of a run-in or a pole, and the ATR."""
DIGITS = 5


def shape_of(chart: Chart) -> dict[str, float] | None:
    """The shape of a chart's lines, rounded; None if they meet before the last bar."""
    first = max(0, chart.start - BEFORE)
    bars = chart.bars.take(slice(first, chart.last + 1))
    shape = shape_at(bars, version_of(chart, first), chart.last - first)
    if not np.isfinite(shape).all():
        return None
    return {name: round(value, DIGITS) for name, value in shape._asdict().items()}


def version_of(chart: Chart, first: int) -> Rows:
    """The lines of a chart as a version of the detector, with bars counted from the first one."""
    version = np.zeros(1, VERSION)
    version["type"] = TYPES[chart.kind]
    version["scale"] = Scale.SHORT if chart.kind in SQUEEZES else Scale.LONG
    for side, line in (("upper", chart.upper), ("lower", chart.lower)):
        version[f"{side}_start"] = line.start - first
        version[f"{side}_value"] = line.value
        version[f"{side}_slope"] = line.slope
    record: Rows = version[0]
    return record

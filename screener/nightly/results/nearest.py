"""Nearest: the drawing of a symbol without a setup that comes furthest, and the rule it fails."""

from __future__ import annotations

from typing import Final

from screener.nightly.detector.detector import DetectorRun, furthest
from screener.nightly.detector.events import Rule
from screener.nightly.detector.parameters import Parameters
from screener.nightly.results.views import family_of_type, past_lines, quality_pct, type_name
from screener.nightly.series import Series
from store.wire.records import NearestDrawing

SCORED: Final = (Rule.NONE, Rule.SCORE)
"""What a drawing fails that is named and has a quality."""

DIGITS: Final = 6
"""Significant digits of the number of a rule; readers are shown fewer."""


def nearest_drawing(
    walked: DetectorRun, series: Series, parameters: Parameters, *, gap_days: int
) -> NearestDrawing:
    """The pair of lines that comes furthest at the end of a walk over a series."""
    version, finding = furthest(walked, series, parameters, gap_days=gap_days)
    rule = Rule(finding.rule)
    value, bound = (float(f"{x:.{DIGITS}g}") for x in (finding.value, finding.bound))
    found = NearestDrawing(rule=rule.name.lower(), value=value, bound=bound)
    if rule not in SCORED:
        return found
    kind = int(version["type"])
    named = {
        "family_label": family_of_type(kind).label,
        "pattern_type": type_name(kind),
        "quality_pct": quality_pct(version),
        "lines": past_lines(series.bars, version, len(series) - 1),
    }
    return found.model_copy(update=named)

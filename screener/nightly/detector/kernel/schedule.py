"""Schedule: the bar on which a pair of lines is judged next.

A pair is judged when one of its lines is drawn or touched, and again as soon as its answer may have
changed: most rules tell that bar, and a score far below the minimum needs several bars to reach it.
`due[upper, lower]` of the state is that bar for the lines in two slots of a scale.
"""

from __future__ import annotations

import numpy as np

from screener.nightly.detector.events import Rule
from screener.nightly.detector.kernel.compiler import compiled
from screener.nightly.detector.kernel.naming import Finding

NEVER = 2**31 - 1


@compiled
def rest(finding: Finding) -> int:
    """The bars until a judged pair is judged again, unless one of its lines is touched before."""
    rule = finding.rule
    if rule == Rule.SCORE:
        return score_rest(finding.value, finding.bound)
    if (
        rule == Rule.EARLY_CLOSE
        or rule == Rule.LARGEST_BAR
        or rule == Rule.LARGEST_GAP
        or rule == Rule.THIN
    ):
        return 16
    if rule == Rule.TOUCHES or rule == Rule.CROSSINGS:
        return 12
    if rule == Rule.DIRECTNESS:
        return 6
    if rule == Rule.NONE:
        return 1
    return 3


@compiled
def score_rest(quality: float, needed: float) -> int:
    """Bars of rest for a pair whose score is too low: it moves by about 0.7 in log-odds a bar."""
    missing = log_odds(needed) - log_odds(quality)
    if missing > 3.0:
        return 16
    if missing > 2.0:
        return 8
    if missing > 1.5:
        return 4
    if missing > 1.0:
        return 3
    return 2 if missing > 0.5 else 1


@compiled
def log_odds(quality: float) -> float:
    """The log-odds of a score in percent."""
    return float(np.log(max(quality, 1e-9) / max(100.0 - quality, 1e-9)))

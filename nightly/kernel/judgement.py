"""Judgement: the chance that chart readers accept a pattern, from its shape.

The weights are those of `nightly.judgement` (docs/detector.md section 5).
"""

from __future__ import annotations

import numpy as np

from nightly.bars import Floats
from nightly.events import PatternType
from nightly.judgement import BASES, PARTS
from nightly.kernel.compiler import compiled
from nightly.kernel.pairs import is_squeeze
from nightly.kernel.shape import Shape

# [part], by scale
LONG_LOW, LONG_HIGH, LONG_EACH = (
    np.array(column) for column in zip(*(part.long for part in PARTS), strict=True)
)
SQUEEZE_LOW, SQUEEZE_HIGH, SQUEEZE_EACH = (
    np.array(column) for column in zip(*(part.squeeze for part in PARTS), strict=True)
)
# [type]; no type has the number 0.
BASE = np.array([0.0, *(BASES[kind] for kind in PatternType)])


@compiled
def judged(shape: Shape, kind: int) -> float:
    """The score, 0 to 100: the chance in percent that both readers would accept the drawing."""
    odds = BASE[kind]
    if is_squeeze(kind):
        odds += weighed(shape, SQUEEZE_LOW, SQUEEZE_HIGH, SQUEEZE_EACH)
    else:
        odds += weighed(shape, LONG_LOW, LONG_HIGH, LONG_EACH)
    return float(100.0 / (1.0 + np.exp(-odds)))


@compiled
def weighed(shape: Shape, low: Floats, high: Floats, each: Floats) -> float:
    """The log-odds that the numbers of a shape add."""
    total = 0.0
    for part in range(len(each)):
        total += each[part] * min(max(shape[part], low[part]), high[part])
    return total

"""Score: how well a pattern is drawn, 0 to 100 (docs/detector.md section 5).

The score does not predict the outcome.
"""

from __future__ import annotations

from nightly.kernel.compiler import compiled
from nightly.kernel.pairs import Pair
from nightly.kernel.touches import Sequence
from nightly.parameters import Parameters


@compiled
def quality_of(
    pair: Pair,
    atr: float,
    touches: int,
    residual: float,
    sequence: Sequence,
    parameters: Parameters,
) -> float:
    """The drawing quality of a candidate, from its touches, fit, alignment, evenness and size."""
    mean_residual = residual / (touches * parameters.touch_tolerance)
    uneven = max(0.0, sequence.largest_gap / pair.length - 0.2) / 0.4
    return (
        30.0 * min(touches, 8) / 8.0
        + 18.0 * min(sequence.crossings, 5) / 5.0
        + 16.0 * max(0.0, 1.0 - mean_residual)
        + 10.0 * (1.0 - (pair.later_start - pair.start) / pair.length)
        + 12.0 * max(0.0, 1.0 - uneven)
        + 8.0 * min(1.0, pair.height / (6.0 * atr))
        + 6.0 * (1.0 if 0.35 <= pair.progress <= 0.8 else 0.4)
    )

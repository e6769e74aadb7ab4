"""Points: the prototype's score of a drawing, 0 to 100, by which the reference detector serves.

It is a plain sum; the default detector uses the judgement instead (docs/detector.md section 7).
"""

from __future__ import annotations

from nightly.kernel.compiler import compiled
from nightly.kernel.pairs import Pair
from nightly.kernel.touches import Contacts
from nightly.parameters import Parameters


@compiled
def points_of(pair: Pair, atr: float, contacts: Contacts, parameters: Parameters) -> float:
    """Points for touches, changes of side, fit, alignment, evenness, size and progress."""
    touches = contacts.upper.number + contacts.lower.number
    residual = contacts.upper.residual + contacts.lower.residual
    mean_residual = residual / (touches * parameters.touch_tolerance)
    uneven = max(0.0, contacts.sequence.largest_gap / pair.length - 0.2) / 0.4
    return (
        30.0 * min(touches, 8) / 8.0
        + 18.0 * min(contacts.sequence.crossings, 5) / 5.0
        + 16.0 * max(0.0, 1.0 - mean_residual)
        + 10.0 * (1.0 - (pair.later_start - pair.start) / pair.length)
        + 12.0 * max(0.0, 1.0 - uneven)
        + 8.0 * min(1.0, pair.height / (6.0 * atr))
        + 6.0 * (1.0 if 0.35 <= pair.progress <= 0.8 else 0.4)
    )

"""Candidates: pairs of lines that pass every test and are proposed as setups.

The tests are those of docs/detector.md sections 3 to 5.
"""

from __future__ import annotations

from nightly.events import EndReason, PatternType, Rows, Scale
from nightly.kernel.compiler import compiled
from nightly.kernel.formations import attempt_of, propose
from nightly.kernel.legs import is_direct
from nightly.kernel.lines import Line
from nightly.kernel.pairs import (
    NO_PATTERN,
    Pair,
    converge,
    direction_of,
    holds_early_closes,
    pair_of,
    spans_long_pattern,
    typical_atr,
    wedge_or_triangle,
)
from nightly.kernel.prices import LOWER, UPPER
from nightly.kernel.refit import refit
from nightly.kernel.score import quality_of
from nightly.kernel.squeezes import NO_POLE, pole_of, spans_squeeze
from nightly.kernel.state import State
from nightly.kernel.touches import Indices, Sequence, find_touches, in_sequence
from nightly.kernel.versions import Version
from nightly.parameters import Parameters


@compiled
def propose_pairs(
    prices: Rows,
    state: State,
    versions: Rows,
    touches: Indices,
    scale: int,
    bar: int,
    parameters: Parameters,
) -> None:
    """Test every pair of a scale with a new or newly touched line; propose the pairs that pass."""
    candidate = state.candidate
    atr = prices[bar].atr
    for i in range(state.line_counts[scale, UPPER]):
        upper = state.lines[scale, UPPER, i]
        for j in range(state.line_counts[scale, LOWER]):
            lower = state.lines[scale, LOWER, j]
            if upper.changed != bar and lower.changed != bar:
                continue
            if not converge(upper, lower, atr, bar, parameters):
                continue
            pair = pair_of(upper, lower, bar)
            if not spans_pattern(pair, scale, parameters):
                continue
            note_lines(candidate, upper, lower, pair, scale, bar)
            candidate.attempt = attempt_of(state, pair.start, bar, parameters)
            if not is_pattern(prices, candidate, upper, lower, pair, touches, bar, parameters):
                continue
            if parameters.refit_touches > 0 and not redraw(
                prices, state, upper, lower, touches, scale, bar, parameters
            ):
                note_lines(candidate, upper, lower, pair, scale, bar)
                is_pattern(prices, candidate, upper, lower, pair, touches, bar, parameters)
            propose(state, versions, atr, bar, parameters)


@compiled
def redraw(
    prices: Rows,
    state: State,
    upper: Line,
    lower: Line,
    touches: Indices,
    scale: int,
    bar: int,
    parameters: Parameters,
) -> bool:
    """Refit the candidate to all its touches; True if it passes again and loses no touch."""
    candidate = state.candidate
    on_upper = candidate.upper_touches
    on_lower = candidate.lower_touches
    new_upper = state.refitted[UPPER]
    new_lower = state.refitted[LOWER]
    if not refit(prices, UPPER, upper, touches[UPPER], on_upper, bar, parameters, new_upper):
        return False
    if not refit(prices, LOWER, lower, touches[LOWER], on_lower, bar, parameters, new_lower):
        return False
    if not converge(new_upper, new_lower, prices[bar].atr, bar, parameters):
        return False
    pair = pair_of(new_upper, new_lower, bar)
    if not spans_pattern(pair, scale, parameters):
        return False
    note_lines(candidate, new_upper, new_lower, pair, scale, bar)
    if not is_pattern(prices, candidate, new_upper, new_lower, pair, touches, bar, parameters):
        return False
    return candidate.upper_touches >= on_upper and candidate.lower_touches >= on_lower


@compiled
def spans_pattern(pair: Pair, scale: int, parameters: Parameters) -> bool:
    """Whether a pair passes the tests that need no prices."""
    if scale == Scale.SHORT:
        return spans_squeeze(pair, parameters)
    return spans_long_pattern(pair, parameters)


@compiled
def note_lines(
    candidate: Version, upper: Line, lower: Line, pair: Pair, scale: int, bar: int
) -> None:
    """Record the lines of a candidate, converted back to log prices."""
    candidate.scale = scale
    candidate.upper_start = upper.start
    candidate.upper_value = upper.value
    candidate.upper_slope = upper.slope
    candidate.lower_start = lower.start
    candidate.lower_value = -lower.value
    candidate.lower_slope = -lower.slope
    candidate.width = pair.width
    candidate.first_served = bar
    candidate.end = -1
    candidate.end_reason = EndReason.FORMING


@compiled
def is_pattern(
    prices: Rows,
    candidate: Version,
    upper: Line,
    lower: Line,
    pair: Pair,
    touches: Indices,
    bar: int,
    parameters: Parameters,
) -> bool:
    """Whether a candidate passes every test on prices; if so, all its fields are filled in."""
    if candidate.scale == Scale.SHORT:
        if not note_squeeze(prices, candidate, pair, bar, parameters):
            return False
    elif not note_wedge_or_triangle(prices, candidate, pair, bar, parameters):
        return False
    if not holds_early_closes(prices, upper, lower, pair, parameters.early_tolerance):
        return False
    return note_touches(prices, candidate, upper, lower, pair, touches, bar, parameters)


@compiled
def note_wedge_or_triangle(
    prices: Rows, candidate: Version, pair: Pair, bar: int, parameters: Parameters
) -> bool:
    """Record the type, direction, height and approach if the pair is a wedge or triangle."""
    if pair.height < parameters.height_min * typical_atr(prices, pair, bar):
        return False
    kind = wedge_or_triangle(pair, parameters)
    if kind == NO_PATTERN:
        return False
    before = max(pair.start - parameters.approach_bars, 0)
    approach = prices[pair.start].log_close[UPPER] - prices[before].log_close[UPPER]
    candidate.type = kind
    candidate.direction = direction_of(kind, approach)
    candidate.height = pair.height
    candidate.approach = approach
    return True


@compiled
def note_squeeze(
    prices: Rows, candidate: Version, pair: Pair, bar: int, parameters: Parameters
) -> bool:
    """Record the type, direction, height and approach if the pair is a squeeze."""
    pole = pole_of(prices, pair, candidate.upper_start, candidate.lower_start, bar, parameters)
    if pole == NO_POLE:
        return False
    if pole > 0.0:
        candidate.type = PatternType.BULLISH_SQUEEZE
        candidate.direction = 1
    else:
        candidate.type = PatternType.BEARISH_SQUEEZE
        candidate.direction = -1
    candidate.height = abs(pole)
    candidate.approach = pole
    return True


@compiled
def note_touches(
    prices: Rows,
    candidate: Version,
    upper: Line,
    lower: Line,
    pair: Pair,
    touches: Indices,
    bar: int,
    parameters: Parameters,
) -> bool:
    """Record touches, crossings and quality; True if they are sufficient."""
    scale = candidate.scale
    # Tested before the touches because it is cheaper and most pairs fail it.
    if scale == Scale.LONG and not is_direct(prices, upper, lower, pair, bar, parameters):
        return False
    above = touches[UPPER]
    below = touches[LOWER]
    on_upper = find_touches(prices, scale, UPPER, upper, lower, pair.start, bar, parameters, above)
    if on_upper.number < 2:
        return False
    on_lower = find_touches(prices, scale, LOWER, lower, upper, pair.start, bar, parameters, below)
    count = on_upper.number + on_lower.number
    if on_lower.number < 2 or count < touches_needed(candidate.type, parameters):
        return False
    sequence = in_sequence(above, on_upper.number, below, on_lower.number, pair.start, bar)
    if not is_filled(sequence, pair.length, candidate, parameters):
        return False
    residual = on_upper.residual + on_lower.residual
    atr = typical_atr(prices, pair, bar)
    candidate.upper_touches = on_upper.number
    candidate.lower_touches = on_lower.number
    candidate.crossings = sequence.crossings
    candidate.last_touch = sequence.last
    candidate.quality = quality_of(pair, atr, count, residual, sequence, parameters)
    return candidate.quality >= quality_needed(candidate, parameters)


@compiled
def touches_needed(kind: int, parameters: Parameters) -> int:
    """The minimum number of touches of both lines together."""
    if kind == PatternType.RISING_WEDGE or kind == PatternType.FALLING_WEDGE:
        return parameters.wedge_touches
    if kind == PatternType.BULLISH_SQUEEZE or kind == PatternType.BEARISH_SQUEEZE:
        return parameters.squeeze_touches
    return parameters.triangle_touches


@compiled
def is_filled(sequence: Sequence, length: int, candidate: Version, parameters: Parameters) -> bool:
    """Whether price crossed from line to line often enough, and on the long scale evenly enough."""
    if candidate.scale == Scale.SHORT:
        return sequence.crossings >= parameters.squeeze_crossings_min
    needed = parameters.crossings_min
    if candidate.attempt > 1:
        needed = parameters.later_crossings_min
    if sequence.crossings < needed:
        return False
    return sequence.largest_gap <= parameters.touch_gap_max * length


@compiled
def quality_needed(candidate: Version, parameters: Parameters) -> float:
    """The minimum quality for a candidate to be served."""
    if candidate.scale == Scale.SHORT:
        return parameters.squeeze_quality_min
    if candidate.attempt > 1:
        return parameters.later_quality_min
    return parameters.quality_min

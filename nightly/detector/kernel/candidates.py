"""Candidates: the pairs of lines that are judged, and proposed as setups if they pass.

Those of one bar and scale are proposed best first, so that no order of lines matters: bars upside
down give the same setups upside down.
"""

from __future__ import annotations

from nightly.detector.events import EndReason, Rows, Rule, Scale
from nightly.detector.kernel.compiler import Record, compiled
from nightly.detector.kernel.judge import Verdict, judge, tested_span
from nightly.detector.kernel.lineages import propose
from nightly.detector.kernel.lines import copy_line
from nightly.detector.kernel.naming import follows_pole
from nightly.detector.kernel.pairs import converge, pair_of, refit_pair, typical_atr
from nightly.detector.kernel.prices import LOWER, UPPER
from nightly.detector.kernel.state import CANDIDATES_PER_BAR, FITS_PER_BAR
from nightly.detector.kernel.touches import Indices
from nightly.detector.parameters import Parameters


@compiled
def propose_pairs(
    prices: Rows,
    state: Record,
    versions: Rows,
    touches: Indices,
    scale: int,
    bar: int,
    parameters: Parameters,
) -> None:
    """Judge every pair of a scale with a new or newly touched line; propose those that pass."""
    state.candidate_count = 0
    state.fit_count = 0
    drawn = state.drawn
    uppers = state.lines[scale, UPPER]
    lowers = state.lines[scale, LOWER]
    lowers_changed = any_changed(lowers, state.line_counts[scale, LOWER], bar)
    for i in range(state.line_counts[scale, UPPER]):
        upper = uppers[i]
        if upper.changed != bar and not lowers_changed:
            continue
        for j in range(state.line_counts[scale, LOWER]):
            lower = lowers[j]
            if upper.changed != bar and lower.changed != bar:
                continue
            # First what needs no call, because most pairs fail it.
            if -lower.slope > upper.slope and is_possible(
                prices, upper, lower, scale, bar, parameters
            ):
                copy_line(upper, drawn[UPPER])
                copy_line(lower, drawn[LOWER])
                judge_pair(prices, state, touches, scale, bar, parameters)
    for place in range(state.candidate_count):
        state.candidate = state.candidates[place]
        propose(state, versions, prices[bar].atr, bar, parameters)


@compiled
def judge_pair(
    prices: Rows, state: Record, touches: Indices, scale: int, bar: int, parameters: Parameters
) -> None:
    """Fit the drawn pair to its touches, judge it, and keep it as a candidate if it passes.

    If no fit holds, the lines stay as they were drawn.
    """
    lines = state.drawn
    if refit_pair(prices, state, scale, touches, bar, parameters):
        lines = state.refitted
        if is_repeated(state):
            return
    verdict = judge(prices, lines, scale, touches, bar, parameters)
    if verdict.finding.rule == Rule.NONE:
        note(state.candidate, lines, verdict, scale, bar)
        keep(state)


@compiled
def is_line(line: Record, other: Record) -> bool:
    """Whether two lines are one, to the last bit."""
    return bool(line.value == other.value and line.slope == other.slope)


@compiled
def is_repeated(state: Record) -> bool:
    """Whether another pair of this bar came to the same fit; if not, remember it while there is
    room.
    """
    upper, lower = state.refitted[UPPER], state.refitted[LOWER]
    for index in range(state.fit_count):
        fit = state.fits[index]
        if is_line(fit[UPPER], upper) and is_line(fit[LOWER], lower):
            return True
    if state.fit_count < FITS_PER_BAR:
        copy_line(upper, state.fits[state.fit_count][UPPER])
        copy_line(lower, state.fits[state.fit_count][LOWER])
        state.fit_count += 1
    return False


@compiled
def keep(state: Record) -> None:
    """Insert the candidate among those of this bar by its quality; beyond their limit, the worst
    is dropped.
    """
    place = state.candidate_count
    while place > 0 and state.candidate.quality > state.candidates[place - 1].quality:
        if place < CANDIDATES_PER_BAR:
            state.candidates[place] = state.candidates[place - 1]
        place -= 1
    if place < CANDIDATES_PER_BAR:
        state.candidates[place] = state.candidate
        state.candidate_count = min(state.candidate_count + 1, CANDIDATES_PER_BAR)


@compiled
def any_changed(lines: Rows, count: int, bar: int) -> bool:
    """Whether any of the first `count` lines was drawn or newly touched at a bar."""
    changed = False
    for index in range(count):
        changed |= lines[index].changed == bar
    return changed


@compiled
def is_possible(
    prices: Rows, upper: Record, lower: Record, scale: int, bar: int, parameters: Parameters
) -> bool:
    """The rules that most pairs fail, tested before lines are fitted, which is slow.

    A fit moves lines a little, so these bounds are wider than those of the rules by a slack.
    """
    slack = parameters.fit_slack
    offset = parameters.start_offset_max
    if scale == Scale.SHORT:
        offset = parameters.squeeze_start_offset_max
    length = bar - min(upper.start, lower.start)
    if abs(upper.start - lower.start) > (offset + slack) * length:
        return False
    if not converge(upper, lower, prices[bar].atr, bar, parameters):
        return False
    pair = pair_of(upper, lower, bar)
    if tested_span(pair, scale, slack, parameters).rule != Rule.NONE:
        return False
    if scale == Scale.SHORT:
        return follows_pole(prices, upper, lower, pair, parameters)
    lowest = (1.0 - slack) * parameters.height_min
    return pair.height >= lowest * typical_atr(prices, pair, bar)


@compiled
def note(candidate: Record, lines: Rows, verdict: Verdict, scale: int, bar: int) -> None:
    """Record a pair that passed as the candidate, its lines converted back to log prices."""
    upper = lines[UPPER]
    lower = lines[LOWER]
    candidate.type = verdict.naming.type
    candidate.scale = scale
    candidate.direction = verdict.naming.direction
    candidate.upper_start = upper.start
    candidate.upper_value = upper.value
    candidate.upper_slope = upper.slope
    candidate.lower_start = lower.start
    candidate.lower_value = -lower.value
    candidate.lower_slope = -lower.slope
    candidate.first_served = bar
    candidate.end = -1
    candidate.end_reason = EndReason.FORMING
    candidate.last_touch = verdict.contacts.sequence.last
    candidate.quality = verdict.quality
    candidate.height = verdict.naming.height
    candidate.width = pair_of(upper, lower, bar).width
    candidate.approach = verdict.naming.approach
    candidate.upper_touches = verdict.contacts.upper.number
    candidate.lower_touches = verdict.contacts.lower.number
    candidate.crossings = verdict.contacts.sequence.crossings

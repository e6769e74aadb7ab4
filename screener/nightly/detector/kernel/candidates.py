"""Candidates: the pairs of lines that are judged, and proposed as setups if they pass.

Those of one bar and scale are proposed best first, so that no order of lines matters: bars upside
down give the same setups upside down.
"""

from __future__ import annotations

from screener.nightly.detector.events import EndReason, Rows, Rule, Scale
from screener.nightly.detector.kernel.compiler import Record, compiled
from screener.nightly.detector.kernel.judge import Verdict, bounds_of, judge, rejected
from screener.nightly.detector.kernel.lineages import propose
from screener.nightly.detector.kernel.naming import Finding, failed, follows_pole
from screener.nightly.detector.kernel.pairs import (
    converge,
    pair_of,
    refit_pair,
    typical_atr,
    width_at,
)
from screener.nightly.detector.kernel.prices import LOWER, UPPER
from screener.nightly.detector.kernel.schedule import NEVER, rest
from screener.nightly.detector.kernel.state import CANDIDATES_PER_BAR, FITS_PER_BAR
from screener.nightly.detector.kernel.touches import Indices
from screener.nightly.detector.parameters import Parameters

ROUNDING = 1e-11  # log price


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
    """Judge every pair of a scale that is due, or has a line that changed; propose those that
    pass.
    """
    state.candidate_count = 0
    state.fit_count = 0
    uppers = state.lines[scale, UPPER]
    lowers = state.lines[scale, LOWER]
    due = state.due[scale]
    for i in range(state.line_counts[scale, UPPER]):
        upper = uppers[i]
        for j in range(state.line_counts[scale, LOWER]):
            lower = lowers[j]
            if due[i, j] > bar and upper.changed != bar and lower.changed != bar:
                continue
            due[i, j] = first_possible(prices, upper, lower, scale, bar, parameters)
            if due[i, j] == bar:
                state.drawn[UPPER] = upper
                state.drawn[LOWER] = lower
                due[i, j] += judge_pair(prices, state, touches, scale, bar, parameters)
    for place in range(state.candidate_count):
        state.candidate = state.candidates[place]
        propose(state, versions, prices[bar].atr, bar, parameters)


@compiled
def judge_pair(
    prices: Rows, state: Record, touches: Indices, scale: int, bar: int, parameters: Parameters
) -> int:
    """Fit the drawn pair to its touches, judge it, and keep it as a candidate if it passes.

    If no fit holds, the lines stay as they were drawn. Returns the bars that the pair rests.
    """
    lines = state.drawn
    fitted = refit_pair(prices, state, scale, touches, bar, parameters)
    if fitted:
        lines = state.refitted
        for fit in range(state.fit_count):
            if is_line(state.fits[fit, UPPER], lines[UPPER]) and is_line(
                state.fits[fit, LOWER], lines[LOWER]
            ):
                return int(state.fit_rests[fit])
    verdict = judge(prices, lines, scale, touches, bar, parameters)
    if verdict.finding.rule == Rule.NONE:
        note(state.candidate, lines, verdict, scale, bar)
        keep(state)
    bars = rest(verdict.finding)
    if fitted:
        remember(state, bars)
    return bars


@compiled
def furthest_pair(
    prices: Rows, state: Record, touches: Indices, bar: int, parameters: Parameters
) -> Finding:
    """Judge every pair of live lines as of a bar, whether it is due or not. The one that comes
    furthest, by the rule that it fails and then by its quality, becomes the candidate.

    Returns what that pair fails, `PASSED` if nothing; without a pair, that no lines converge.
    """
    furthest = failed(Rule.CONVERGENCE, 0.0, 0.0)
    best = 0.0
    for scale in range(2):
        for i in range(state.line_counts[scale, UPPER]):
            for j in range(state.line_counts[scale, LOWER]):
                verdict = judge_live(prices, state, touches, scale, i, j, bar, parameters)
                ahead = reached(verdict.finding) - reached(furthest)
                if ahead > 0 or (ahead == 0 and verdict.quality > best):
                    furthest = verdict.finding
                    best = verdict.quality
                    note(state.candidate, state.drawn, verdict, scale, bar)
    return furthest


@compiled
def judge_live(
    prices: Rows,
    state: Record,
    touches: Indices,
    scale: int,
    i: int,
    j: int,
    bar: int,
    parameters: Parameters,
) -> Verdict:
    """Judge the upper line `i` and the lower line `j` of a scale as of a bar, due or not.

    What was judged is in `state.drawn`: fitted, if the pair would come to be fitted.
    """
    upper = state.lines[scale, UPPER, i]
    lower = state.lines[scale, LOWER, j]
    state.drawn[UPPER] = upper
    state.drawn[LOWER] = lower
    atr = prices[bar].atr
    if not converge(upper, lower, atr, bar, parameters):
        width = width_at(upper, lower, bar) / max(atr, 1e-9)
        return rejected(failed(Rule.CONVERGENCE, width, parameters.width_min))
    possible = first_possible(prices, upper, lower, scale, bar, parameters) == bar
    if possible and refit_pair(prices, state, scale, touches, bar, parameters):
        state.drawn[UPPER] = state.refitted[UPPER]
        state.drawn[LOWER] = state.refitted[LOWER]
    return judge(prices, state.drawn, scale, touches, bar, parameters)


@compiled
def reached(finding: Finding) -> int:
    """How far a pair came: the rule that it fails, or beyond the last."""
    return int(finding.rule) if finding.rule != Rule.NONE else Rule.SCORE + 1


@compiled
def is_line(line: Record, other: Record) -> bool:
    """Whether two lines are one, to the last bit."""
    same_place = line.start == other.start and line.value == other.value
    return bool(same_place and line.slope == other.slope)


@compiled
def remember(state: Record, bars: int) -> None:
    """Remember a fit of this bar, while there is room: another pair may come to it too."""
    if state.fit_count < FITS_PER_BAR:
        state.fits[state.fit_count][UPPER] = state.refitted[UPPER]
        state.fits[state.fit_count][LOWER] = state.refitted[LOWER]
        state.fit_rests[state.fit_count] = bars
        state.fit_count += 1


@compiled
def keep(state: Record) -> None:
    """Insert the candidate among those of this bar by its quality, unless another pair came to the
    same lines; beyond their limit, the worst is dropped.
    """
    for place in range(state.candidate_count):
        if has_same_lines(state.candidate, state.candidates[place]):
            return
    place = state.candidate_count
    while place > 0 and is_better(state.candidate, state.candidates[place - 1]):
        if place < CANDIDATES_PER_BAR:
            state.candidates[place] = state.candidates[place - 1]
        place -= 1
    if place < CANDIDATES_PER_BAR:
        state.candidates[place] = state.candidate
        state.candidate_count = min(state.candidate_count + 1, CANDIDATES_PER_BAR)


@compiled
def has_same_lines(one: Record, other: Record) -> bool:
    """Whether two candidates of a bar are one but for rounding."""
    if one.upper_start != other.upper_start or one.lower_start != other.lower_start:
        return False
    return bool(one.quality == other.quality and abs(one.width - other.width) < ROUNDING)


@compiled
def is_better(one: Record, other: Record) -> bool:
    """Whether a candidate goes before another; no order of sides or lines matters."""
    if one.quality != other.quality:
        return bool(one.quality > other.quality)
    first = min(one.upper_start, one.lower_start)
    other_first = min(other.upper_start, other.lower_start)
    if first != other_first:
        return bool(first < other_first)
    second = max(one.upper_start, one.lower_start)
    other_second = max(other.upper_start, other.lower_start)
    if second != other_second:
        return bool(second < other_second)
    return bool(one.width > other.width)


@compiled
def first_possible(
    prices: Rows, upper: Record, lower: Record, scale: int, bar: int, parameters: Parameters
) -> int:
    """The bar itself if a pair may pass the rules that most pairs fail, else the first later one.

    They are tested before lines are fitted, which is slow. A fit moves lines a little, so these
    bounds are wider than those of the rules by a slack.
    """
    # First what needs no call, because most pairs fail it.
    if -lower.slope <= upper.slope:
        return NEVER
    bounds = bounds_of(scale, parameters)
    slack = parameters.fit_slack
    start = min(upper.start, lower.start)
    length = bar - start
    if length > bounds.longest:
        return NEVER
    if length < bounds.shortest:
        return int(start + bounds.shortest)
    if bar - min(upper.last_touch, lower.last_touch) > bounds.recency * length:
        return NEVER  # until a line is touched
    apart = abs(upper.start - lower.start)
    offset = bounds.offset + slack
    if apart > offset * length:
        return int(max(bar + 1, start + int(apart / offset)))
    today = width_at(upper, lower, bar)
    if today <= parameters.width_min * prices[bar].atr:
        return bar + 1 if today > 0.0 else NEVER
    width = width_at(upper, lower, start)
    if 1.0 - today / width > parameters.progress_max + slack:
        return NEVER
    least = bounds.progress - slack
    if 1.0 - today / width < least:
        return int(max(bar + 1, start + int(least * width * length / (width - today))))
    pair = pair_of(upper, lower, bar)
    if scale == Scale.SHORT:
        return bar if follows_pole(prices, upper, lower, pair, parameters) else NEVER
    lowest = (1.0 - slack) * parameters.height_min
    return bar if pair.height >= lowest * typical_atr(prices, pair, bar) else bar + 1


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
    candidate.first_quality = candidate.quality = verdict.quality
    candidate.height = verdict.naming.height
    candidate.width = pair_of(upper, lower, bar).width
    candidate.approach = verdict.naming.approach
    candidate.upper_touches = verdict.contacts.upper.number
    candidate.lower_touches = verdict.contacts.lower.number
    candidate.crossings = verdict.contacts.sequence.crossings

"""Judge: whether a pair of lines is served as a pattern, and if not, the first rule that it fails.

It reads prices and lines and changes neither; the touches that it finds are written to a buffer.
The rules are those of docs/detector.md sections 3 to 5.
"""

from __future__ import annotations

from typing import NamedTuple

from screener.nightly.detector.events import PatternType, Rows, Rule, Scale
from screener.nightly.detector.kernel.compiler import compiled
from screener.nightly.detector.kernel.lines import value_at
from screener.nightly.detector.kernel.naming import (
    PASSED,
    Finding,
    Naming,
    failed,
    is_squeeze,
    name_of,
    unnamed,
)
from screener.nightly.detector.kernel.pairs import LinePair, pair_of
from screener.nightly.detector.kernel.prices import LOWER, UPPER
from screener.nightly.detector.kernel.shape import Shape, judged, shape_of
from screener.nightly.detector.kernel.touches import (
    Contacts,
    Indices,
    Sequence,
    Touches,
    contacts_of,
)
from screener.nightly.detector.parameters import Parameters


class Verdict(NamedTuple):
    """What a pair of lines is, and how well it is drawn; without a finding it is served."""

    finding: Finding
    naming: Naming
    contacts: Contacts
    quality: float  # 0 to 100


@compiled
def rejected(finding: Finding) -> Verdict:
    """The verdict on a pair that fails a rule before it is scored."""
    nothing = Touches(0, 0.0, 0.0, 0, 0)
    return Verdict(finding, unnamed(finding), Contacts(nothing, nothing, Sequence(0, 0, 0)), 0.0)


@compiled
def judge(
    prices: Rows, lines: Rows, scale: int, touches: Indices, bar: int, parameters: Parameters
) -> Verdict:
    """Test two converging lines of a scale as of a bar, cheap rules first."""
    pair = pair_of(lines[UPPER], lines[LOWER], bar)
    finding = tested_span(pair, scale, parameters)
    if finding.rule != Rule.NONE:
        return rejected(finding)
    naming = name_of(prices, lines, pair, scale, bar, parameters)
    if naming.finding.rule != Rule.NONE:
        return rejected(naming.finding)
    finding = tested_early_closes(prices, lines, pair, parameters.early_tolerance)
    if finding.rule != Rule.NONE:
        return rejected(finding)
    contacts = contacts_of(prices, lines, scale, (pair.start, bar), parameters, touches)
    finding = tested_contacts(contacts, naming.type, pair, parameters)
    if finding.rule != Rule.NONE:
        return rejected(finding)
    return scored(prices, lines, pair, naming, contacts, bar, parameters)


@compiled
def scored(
    prices: Rows,
    lines: Rows,
    pair: LinePair,
    naming: Naming,
    contacts: Contacts,
    bar: int,
    parameters: Parameters,
) -> Verdict:
    """Score a pair that passed the other rules; its proportions and the score are rules too."""
    shape = shape_of(prices, lines, pair, contacts, naming.type, bar, parameters)
    finding = tested_proportions(shape, naming.type, parameters)
    if finding.rule == Rule.NONE:
        finding = tested_trading(prices, pair, bar, parameters)
    if finding.rule == Rule.NONE:
        finding = tested_nearness(prices, lines, naming, bar, parameters)
    if finding.rule != Rule.NONE:
        return rejected(finding)
    quality = judged(shape, naming.type)
    if quality < parameters.quality_min:
        finding = failed(Rule.SCORE, quality, parameters.quality_min)
    return Verdict(finding, naming, contacts, quality)


class Bounds(NamedTuple):
    """The bounds of a scale."""

    shortest: int  # bars
    longest: int
    progress: float
    offset: float
    recency: float


@compiled
def bounds_of(scale: int, parameters: Parameters) -> Bounds:
    """The bounds of length, progress, alignment and recency on a scale."""
    if scale == Scale.SHORT:
        return Bounds(
            parameters.squeeze_length_min,
            parameters.squeeze_length_max,
            parameters.squeeze_progress_min,
            parameters.squeeze_start_offset_max,
            parameters.squeeze_recency_max,
        )
    return Bounds(
        parameters.length_min,
        parameters.length_max,
        parameters.progress_min,
        parameters.start_offset_max,
        parameters.recency_max,
    )


@compiled
def tested_span(pair: LinePair, scale: int, parameters: Parameters) -> Finding:
    """The rules of length, progress, alignment and recency, which need no prices."""
    bounds = bounds_of(scale, parameters)
    if pair.length < bounds.shortest:
        return failed(Rule.LENGTH, pair.length, bounds.shortest)
    if pair.length > bounds.longest:
        return failed(Rule.LENGTH, pair.length, bounds.longest)
    if pair.progress < bounds.progress:
        return failed(Rule.PROGRESS, pair.progress, bounds.progress)
    if pair.progress > parameters.progress_max:
        return failed(Rule.PROGRESS, pair.progress, parameters.progress_max)
    if pair.later_start - pair.start > bounds.offset * pair.length:
        offset = (pair.later_start - pair.start) / pair.length
        return failed(Rule.OFFSET, offset, bounds.offset)
    if pair.idle > bounds.recency * pair.length:
        return failed(Rule.RECENCY, pair.idle / pair.length, bounds.recency)
    return PASSED


@compiled
def tested_early_closes(prices: Rows, lines: Rows, pair: LinePair, tolerance: float) -> Finding:
    """Whether the closes before the later line starts stay within its backward extension."""
    for bar in range(pair.start, pair.later_start):
        price = prices[bar]
        slack = tolerance * price.atr
        for side in (UPPER, LOWER):
            bound = value_at(lines[side], bar) + slack
            if price.log_close[side] > bound:
                beyond = (price.log_close[side] - bound) / price.atr + tolerance
                return failed(Rule.EARLY_CLOSE, beyond, tolerance)
    return PASSED


@compiled
def tested_contacts(
    contacts: Contacts, kind: int, pair: LinePair, parameters: Parameters
) -> Finding:
    """Whether both lines are touched often enough, in turn, evenly, and not too long ago."""
    fewer = min(contacts.upper.number, contacts.lower.number)
    if fewer < 2:
        return failed(Rule.TOUCHES, fewer, 2)
    count = contacts.upper.number + contacts.lower.number
    needed = touches_needed(kind, parameters)
    if count < needed:
        return failed(Rule.TOUCHES, count, needed)
    squeeze = is_squeeze(kind)
    crossings = parameters.squeeze_crossings_min if squeeze else parameters.crossings_min
    if contacts.sequence.crossings < crossings:
        return failed(Rule.CROSSINGS, contacts.sequence.crossings, crossings)
    length = pair.length
    # A squeeze is too short for a rule on its gaps.
    if not squeeze and contacts.sequence.largest_gap > parameters.touch_gap_max * length:
        gap = contacts.sequence.largest_gap / length
        return failed(Rule.TOUCH_GAP, gap, parameters.touch_gap_max)
    # A setup would end for it at once, and begin again on each bar that follows.
    newest = pair.start + length - contacts.sequence.last
    longest = max(parameters.stale_share * length, parameters.stale_bars_min)
    if newest > longest:
        return failed(Rule.TOUCH_GAP, newest / length, longest / length)
    return PASSED


@compiled
def touches_needed(kind: int, parameters: Parameters) -> int:
    """The minimum number of touches of both lines together."""
    if kind == PatternType.RISING_WEDGE or kind == PatternType.FALLING_WEDGE:
        return parameters.wedge_touches
    if is_squeeze(kind):
        return parameters.squeeze_touches
    return parameters.triangle_touches


@compiled
def tested_proportions(shape: Shape, kind: int, parameters: Parameters) -> Finding:
    """Whether no single bar and no gap makes most of the shape, and its legs are direct."""
    squeeze = is_squeeze(kind)
    largest = parameters.squeeze_bar_share_max if squeeze else parameters.bar_share_max
    if shape.largest_bar > largest:
        return failed(Rule.LARGEST_BAR, shape.largest_bar, largest)
    if shape.largest_gap > parameters.gap_share_max:
        return failed(Rule.LARGEST_GAP, shape.largest_gap, parameters.gap_share_max)
    if not squeeze and shape.directness < parameters.directness_min:
        return failed(Rule.DIRECTNESS, shape.directness, parameters.directness_min)
    return PASSED


@compiled
def tested_nearness(
    prices: Rows, lines: Rows, naming: Naming, bar: int, parameters: Parameters
) -> Finding:
    """Whether the last close leaves room before a line whose break triggers."""
    both = naming.type == PatternType.SYMMETRICAL_TRIANGLE
    for side in (UPPER, LOWER):
        if not both and side != (UPPER if naming.direction > 0 else LOWER):
            continue
        room = value_at(lines[side], bar) - prices[bar].log_close[side]
        if room < parameters.nearness_min * prices[bar].atr:
            return failed(Rule.NEARNESS, room / prices[bar].atr, parameters.nearness_min)
    return PASSED


@compiled
def tested_trading(prices: Rows, pair: LinePair, bar: int, parameters: Parameters) -> Finding:
    """Whether enough bars have a range, so that the shape is traded and not quoted."""
    flat = 0
    for k in range(pair.start, bar + 1):
        if prices[k].high == prices[k].low:
            flat += 1
    share = flat / (pair.length + 1)
    if share > parameters.thin_share_max:
        return failed(Rule.THIN, share, parameters.thin_share_max)
    return PASSED

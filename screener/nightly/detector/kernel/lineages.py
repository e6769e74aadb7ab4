"""Formations: which forming setup a candidate replaces, and which lineage it belongs to.

See docs/detector.md section 6. Every served version is logged. A replacement ends the old version
and opens a new one in the same lineage.
"""

from __future__ import annotations

from screener.nightly.detector.events import EndReason, Rows, Scale
from screener.nightly.detector.kernel.compiler import Record, compiled
from screener.nightly.detector.kernel.state import FREE
from screener.nightly.detector.kernel.versions import lower_at, overlap, start_of, upper_at
from screener.nightly.detector.parameters import Parameters

NOBODY = -1
REJECTED = -2


@compiled
def propose(state: Record, versions: Rows, atr: float, bar: int, parameters: Parameters) -> None:
    """Serve the candidate as a new version, unless a rival forming setup holds against it."""
    candidate = state.candidate
    slot = find_rival(state, versions, atr, bar, parameters)
    if slot == REJECTED:
        return
    if slot == NOBODY:
        slot = free_slot(state.forming)
        if slot == NOBODY or not join_lineage(state, versions, bar, parameters):
            return
    else:
        supersede(state, versions, slot, bar, parameters)
    extend_lineage(state.lineages, candidate, bar)
    state.forming[slot].version = state.version_count
    state.forming[slot].last_touch = candidate.last_touch
    versions[state.version_count] = candidate
    state.version_count += 1


@compiled
def find_rival(state: Record, versions: Rows, atr: float, bar: int, parameters: Parameters) -> int:
    """The slot of the nearest rival if all are beaten, NOBODY if there is none, else REJECTED."""
    candidate = state.candidate
    start = start_of(candidate)
    rival = NOBODY
    nearest = -1.0
    for slot in range(len(state.forming)):
        setup = state.forming[slot]
        if setup.version == FREE:
            continue
        version = versions[setup.version]
        if not rivals(version, candidate, bar, parameters):
            continue
        redrawn = same_lines(version, candidate, atr, bar, parameters)
        if candidate.quality < version.quality + margin(version, candidate, parameters):
            if redrawn:
                setup.last_touch = max(setup.last_touch, candidate.last_touch)
            return REJECTED
        shared = overlap(start_of(version), bar, start, bar)
        if shared > nearest:
            rival = slot
            nearest = shared
    return rival


@compiled
def rivals(version: Record, candidate: Record, bar: int, parameters: Parameters) -> bool:
    """Whether two spans up to today overlap so much that only one of them is served."""
    needed = parameters.overlap_min
    if version.scale != candidate.scale:
        needed = parameters.cross_scale_overlap_min
    return overlap(start_of(version), bar, start_of(candidate), bar) >= needed


@compiled
def same_lines(
    version: Record, candidate: Record, atr: float, bar: int, parameters: Parameters
) -> bool:
    """Whether both lines of two versions are equal today, within the tolerance."""
    tolerance = parameters.same_lines_tolerance * atr
    if abs(upper_at(version, bar) - upper_at(candidate, bar)) >= tolerance:
        return False
    return abs(lower_at(version, bar) - lower_at(candidate, bar)) < tolerance


@compiled
def margin(version: Record, candidate: Record, parameters: Parameters) -> float:
    """By how much a candidate's quality must exceed that of a version today to replace it."""
    if version.scale != candidate.scale:
        if candidate.scale == Scale.SHORT:
            return parameters.squeeze_over_long_margin
        return parameters.long_over_squeeze_margin
    return parameters.replace_margin


@compiled
def free_slot(forming: Rows) -> int:
    """The first empty slot, or NOBODY."""
    for slot in range(len(forming)):
        if forming[slot].version == FREE:
            return slot
    return NOBODY


@compiled
def supersede(state: Record, versions: Rows, slot: int, bar: int, parameters: Parameters) -> None:
    """End the version in a slot and all rivals of the candidate on its scale."""
    candidate = state.candidate
    beaten = versions[state.forming[slot].version]
    candidate.lineage = beaten.lineage
    candidate.attempt = beaten.attempt
    for other in range(len(state.forming)):
        setup = state.forming[other]
        if setup.version == FREE:
            continue
        version = versions[setup.version]
        if other != slot and (
            version.scale != candidate.scale or not rivals(version, candidate, bar, parameters)
        ):
            continue
        version.end = bar
        version.end_reason = EndReason.SUPERSEDED
        give_up(state.lineages, version.lineage, bar)
        setup.version = FREE


@compiled
def join_lineage(state: Record, versions: Rows, bar: int, parameters: Parameters) -> bool:
    """Put the candidate into the lineage that it continues, or into a new one; False if that
    lineage was given up or redrawn only lately.
    """
    candidate = state.candidate
    start = start_of(candidate)
    known = known_lineage(state, versions, start, bar, parameters)
    if known == NOBODY:
        known = begin_lineage(state, start, bar)
    lineage = state.lineages[known]
    if lineage.given_up != FREE and bar - lineage.given_up <= parameters.return_bars:
        return False
    candidate.lineage = lineage.number
    candidate.attempt = lineage.triggers + 1
    return True


@compiled
def known_lineage(
    state: Record, versions: Rows, start: int, bar: int, parameters: Parameters
) -> int:
    """The index of the remembered lineage that a span up to today overlaps most, or NOBODY.

    A lineage with a forming setup has no room for another.
    """
    known = NOBODY
    nearest = -1.0
    for index in range(len(state.lineages)):
        lineage = state.lineages[index]
        if lineage.number == FREE:
            continue
        shared = overlap(lineage.start, lineage.end, start, bar)
        if shared < parameters.overlap_min:
            continue
        if is_forming(state, versions, lineage.number):
            continue
        if shared > nearest:
            known = index
            nearest = shared
    return known


@compiled
def is_forming(state: Record, versions: Rows, lineage: int) -> bool:
    """Whether a lineage has a forming setup."""
    for slot in range(len(state.forming)):
        row = state.forming[slot].version
        if row != FREE and versions[row].lineage == lineage:
            return True
    return False


@compiled
def begin_lineage(state: Record, start: int, bar: int) -> int:
    """Remember a new lineage in an empty slot, else in that of the lineage that ended first."""
    oldest = 0
    for index in range(len(state.lineages)):
        if state.lineages[index].number == FREE:
            oldest = index
            break
        if state.lineages[index].end < state.lineages[oldest].end:
            oldest = index
    lineage = state.lineages[oldest]
    lineage.number = state.lineage_count
    lineage.start = start
    lineage.end = bar
    lineage.triggers = 0
    lineage.given_up = FREE
    state.lineage_count += 1
    return oldest


@compiled
def extend_lineage(lineages: Rows, version: Record, bar: int) -> None:
    """Extend the remembered span of a version's lineage to include the version."""
    for index in range(len(lineages)):
        lineage = lineages[index]
        if lineage.number == version.lineage:
            lineage.end = bar
            lineage.start = min(lineage.start, start_of(version))


@compiled
def give_up(lineages: Rows, number: int, bar: int) -> None:
    """Note that a version of a lineage fades or is replaced at a bar."""
    for index in range(len(lineages)):
        if lineages[index].number == number:
            lineages[index].given_up = bar


@compiled
def close_lineage(lineages: Rows, version: Record, bar: int, reason: int) -> None:
    """Extend a lineage to the end of its setup, and count the trigger if it was one."""
    for index in range(len(lineages)):
        lineage = lineages[index]
        if lineage.number == version.lineage:
            lineage.end = bar
            if reason == EndReason.TRIGGERED:
                lineage.triggers += 1
            elif reason == EndReason.FADED:
                lineage.given_up = bar

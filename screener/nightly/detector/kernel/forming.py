"""Forming setups: how a bar triggers, invalidates or expires them (docs/detector.md section 6)."""

from __future__ import annotations

from screener.nightly.detector.events import EndReason, Rows, Scale
from screener.nightly.detector.kernel.compiler import Record, compiled
from screener.nightly.detector.kernel.lineages import close_lineage
from screener.nightly.detector.kernel.pairs import pair_of
from screener.nightly.detector.kernel.prices import LOWER, UPPER
from screener.nightly.detector.kernel.shape import judged, shape_of
from screener.nightly.detector.kernel.state import FREE, Log
from screener.nightly.detector.kernel.touches import Indices, contacts_of
from screener.nightly.detector.kernel.trades import can_enter, enter
from screener.nightly.detector.kernel.versions import (
    armed_direction,
    lay_lines,
    lower_at,
    plan_at,
    start_of,
    upper_at,
)
from screener.nightly.detector.parameters import Parameters


@compiled
def advance_forming(
    prices: Rows, state: Record, log: Log, touches: Indices, bar: int, parameters: Parameters
) -> None:
    """End the forming setups that a bar triggers, invalidates or expires."""
    for slot in range(len(state.forming)):
        setup = state.forming[slot]
        if setup.version == FREE:
            continue
        version = log.versions[setup.version]
        reason = end_reason(prices[bar], state, log, setup, bar, parameters)
        if reason == EndReason.FORMING:
            version.quality = quality_of(prices, state, version, touches, bar, parameters)
            if version.quality < parameters.quality_min - parameters.fade_margin:
                reason = EndReason.FADED
        if reason != EndReason.FORMING:
            version.end = bar
            version.end_reason = reason
            close_lineage(state.lineages, version, bar, reason)
            setup.version = FREE


@compiled
def end_reason(
    price: Record, state: Record, log: Log, setup: Record, bar: int, parameters: Parameters
) -> int:
    """Why a bar ends a setup, FORMING if it does not; a trigger also opens the trade."""
    version = log.versions[setup.version]
    if price.segment == bar:
        return EndReason.DATA_GAP
    broken = broken_side(version, price.log_close[UPPER], bar)
    if broken == 0:
        return expiry(version, setup.last_touch, bar, parameters)
    if broken == -armed_direction(version):
        return EndReason.INVALIDATED
    if is_outdone(price, state, log, setup, broken, bar, parameters):
        return EndReason.SUPERSEDED
    return enter(price, log, state, setup.version, broken, bar, parameters)


@compiled
def broken_side(version: Record, close: float, bar: int) -> int:
    """+1 for a close above the upper line, -1 for one below the lower line, else 0."""
    if close > upper_at(version, bar):
        return 1
    if close < lower_at(version, bar):
        return -1
    return 0


@compiled
def is_outdone(
    price: Record,
    state: Record,
    log: Log,
    setup: Record,
    broken: int,
    bar: int,
    parameters: Parameters,
) -> bool:
    """Whether the same close triggers a better setup in the same direction: both are one trade."""
    for row in range(state.trade_count - 1, -1, -1):
        if log.trades[row].entry != bar:
            break
        if log.trades[row].direction == broken:
            return True
    mine = log.versions[setup.version].quality
    for slot in range(len(state.forming)):
        other = state.forming[slot]
        if other.version == FREE or other.version == setup.version:
            continue
        version = log.versions[other.version]
        if version.quality <= mine or broken == -armed_direction(version):
            continue
        if broken_side(version, price.log_close[UPPER], bar) != broken:
            continue
        if can_enter(price, plan_at(version, price.atr, broken, bar, parameters), broken):
            return True
    return False


@compiled
def expiry(version: Record, last_touch: int, bar: int, parameters: Parameters) -> int:
    """STALE, APEX or TOO_LONG, tested in this order, or FORMING if the setup stays."""
    length = bar - start_of(version)
    if bar - last_touch > max(parameters.stale_share * length, parameters.stale_bars_min):
        return EndReason.STALE
    width = upper_at(version, bar) - lower_at(version, bar)
    if 1.0 - width / version.width > parameters.progress_expiry:
        return EndReason.APEX
    longest = parameters.length_expiry
    if version.scale == Scale.SHORT:
        longest = parameters.squeeze_length_expiry
    if length > longest:
        return EndReason.TOO_LONG
    return EndReason.FORMING


@compiled
def quality_of(
    prices: Rows,
    state: Record,
    version: Record,
    touches: Indices,
    bar: int,
    parameters: Parameters,
) -> float:
    """The score of a setup as of a bar: its lines may no longer look like its pattern."""
    # As integers of one size, so that nothing is compiled again for those of a version.
    kind, scale = int(version.type), int(version.scale)
    lines = state.drawn
    lay_lines(version, lines)
    pair = pair_of(lines[UPPER], lines[LOWER], bar)
    contacts = contacts_of(prices, lines, scale, (pair.start, bar), parameters, touches)
    shape = shape_of(prices, lines, pair, contacts, kind, bar, parameters)
    return judged(shape, kind)

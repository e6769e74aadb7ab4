"""Walk: the loop over the bars of a symbol (docs/detector.md sections 1 and 6).

It is causal by construction: processing a bar reads no later bar. Each bar first resolves open
trades, then advances forming setups, then updates swings, lines and candidates. A candidate can
therefore trigger from the next bar on.
"""

from __future__ import annotations

import numba

from screener.nightly.detector.events import Rows, Rule, Scale
from screener.nightly.detector.kernel.candidates import propose_pairs
from screener.nightly.detector.kernel.compiler import Record, compiled
from screener.nightly.detector.kernel.forming import advance_forming
from screener.nightly.detector.kernel.lines import draw_lines, move_due, touch_lines, value_at
from screener.nightly.detector.kernel.naming import pole_to, tested_pole
from screener.nightly.detector.kernel.prices import PRICE, flag_swing, is_swing, swing_order
from screener.nightly.detector.kernel.state import FREE, Log, has_room
from screener.nightly.detector.kernel.touches import Indices
from screener.nightly.detector.kernel.trades import resolve_trades
from screener.nightly.detector.parameters import Parameters

ROWS = numba.types.Array(numba.from_dtype(PRICE), 1, "C")


@numba.njit(ROWS(numba.types.voidptr, numba.types.intp), cache=True, nogil=True)
def uncounted(address: Record, count: int) -> Rows:
    """The `PRICE` records at an address (`ctypes` of an array), as an array that owns no reference.

    Numba counts references with atomic instructions, which took a fifth of the time of a walk.
    The caller keeps the records alive.
    """
    rows: Rows = numba.carray(address, count, PRICE)  # type: ignore[attr-defined]
    return rows


@compiled
def walk(
    prices: Rows,
    state: Record,
    log: Log,
    touches: Indices,
    walked: int,
    tail: int,
    parameters: Parameters,
) -> int:
    """Advance the state over the bars after the first `walked`; `walked` is 0 for a new state.

    No bar before `tail` is read.

    Returns the number of bars that are walked: all, or those after which the log needs more room.
    """
    prices = uncounted(prices.ctypes, len(prices))
    # Swings are looked for once the ATR has its full window.
    first = parameters.atr_bars + 1
    flag_known_swings(prices, max(first, tail + first), walked, parameters)
    for bar in range(max(first, walked), len(prices)):
        if not has_room(log, state):
            return bar
        resolve_trades(prices, log, state, bar)
        advance_forming(prices, state, log, touches, bar, parameters)
        note_pole(prices, state, bar, parameters)
        for scale in range(2):
            advance_lines(prices, state, scale, bar, parameters)
            if is_analysed(prices, bar, parameters):
                propose_pairs(prices, state, log.versions, touches, scale, bar, parameters)
    return len(prices)


@compiled
def flag_known_swings(prices: Rows, first: int, walked: int, parameters: Parameters) -> None:
    """Flag again the swings that the bars of an earlier walk confirmed."""
    for bar in range(first, walked):
        for scale in range(2):
            for side in range(2):
                confirm_swing(prices, scale, side, bar, parameters)


@compiled
def note_pole(prices: Rows, state: Record, bar: int, parameters: Parameters) -> None:
    """Note a bar that ends a pole on either side."""
    for side in range(2):
        pole = pole_to(prices, side, bar, parameters)
        if pole.height > 0.0 and tested_pole(prices, pole, parameters).rule == Rule.NONE:
            state.last_pole = bar


@compiled
def is_searched(state: Record, scale: int, bar: int, parameters: Parameters) -> bool:
    """Whether lines of a scale are looked for: those of the short scale only after a pole."""
    if scale == Scale.LONG:
        return True
    return bool(state.last_pole != FREE and bar - state.last_pole <= parameters.short_line_bars)


@compiled
def advance_lines(
    prices: Rows, state: Record, scale: int, bar: int, parameters: Parameters
) -> None:
    """Advance the lines of a scale on both sides."""
    searched = is_searched(state, scale, bar, parameters)
    for side in range(2):
        if not searched:
            state.line_counts[scale, side] = 0
        drop_lines(prices, state, scale, side, bar, parameters)
        swing = confirm_swing(prices, scale, side, bar, parameters)
        if swing and searched and is_analysed(prices, bar, parameters):
            meet_swing(prices, state, scale, side, bar, parameters)


@compiled
def line_life(scale: int, parameters: Parameters) -> int:
    """The bars a line lives from its first touch."""
    if scale == Scale.SHORT:
        return parameters.short_line_bars
    return parameters.long_line_bars


@compiled
def drop_lines(
    prices: Rows, state: Record, scale: int, side: int, bar: int, parameters: Parameters
) -> None:
    """Drop the lines of a side that a bar breaks or that are too old; after a data gap, all lines.

    A line lives so many bars from its first touch, and a share of them from its last.
    """
    price = prices[bar]
    lines = state.lines[scale, side]
    count = 0 if price.segment == bar else state.line_counts[scale, side]
    reach = price.extreme[side] - parameters.wick_tolerance * price.atr
    life = line_life(scale, parameters)
    idle = parameters.line_idle_share * life
    index = 0
    while index < count:
        line = lines[index]
        value = value_at(line, bar)
        aged = bar - line.start > life or bar - line.last_touch > idle
        if price.log_close[side] > value or reach > value or aged:
            count -= 1
            lines[index] = lines[count]
            move_due(state.due[scale], side, count, index)
        else:
            index += 1
    state.line_counts[scale, side] = count


@compiled
def confirm_swing(prices: Rows, scale: int, side: int, bar: int, parameters: Parameters) -> bool:
    """Whether a bar confirms a swing; if so, flag it. No swing reaches back across a data gap."""
    order = swing_order(scale, parameters)
    swing = bar - order
    if swing - order < prices[bar].segment or not is_swing(prices, side, swing, order):
        return False
    flag_swing(prices, scale, side, swing)
    return True


@compiled
def is_analysed(prices: Rows, bar: int, parameters: Parameters) -> bool:
    """Whether there is enough history and enough movement to draw lines at a bar."""
    return bar >= parameters.history_bars and prices[bar].atr >= parameters.atr_floor


@compiled
def meet_swing(
    prices: Rows, state: Record, scale: int, side: int, bar: int, parameters: Parameters
) -> None:
    """Update the lines of a side that a newly confirmed swing touches, and draw new lines to it."""
    order = swing_order(scale, parameters)
    swing = bar - order
    price = prices[swing]
    lines = state.lines[scale, side]
    count = state.line_counts[scale, side]
    reach = price.extreme[side] + parameters.touch_tolerance * price.atr
    touch_lines(lines, count, swing, reach, bar)
    first = max(swing - line_life(scale, parameters), price.segment + order)
    state.line_counts[scale, side] = draw_lines(
        prices, lines, count, (scale, side), swing, first, bar, parameters
    )
